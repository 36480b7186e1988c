// SPDX-License-Identifier: Apache-2.0

#include "passes/options/OptionValues.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <charconv>

using namespace ingot;
using llvm::StringLiteral;
using llvm::StringRef;

std::string ingot::joinChoices(llvm::ArrayRef<StringLiteral> choices) {
  std::string text;
  for (auto [i, choice] : llvm::enumerate(choices)) {
    if (i > 0)
      text += i + 1 == choices.size() ? " or " : ", ";
    text += choice;
  }
  return text;
}

llvm::Error ingot::checkChoice(StringRef option, StringRef text,
                               llvm::ArrayRef<StringLiteral> choices) {
  if (llvm::is_contained(choices, text))
    return llvm::Error::success();
  return makeOptionError(option, "unknown " + option + " '" + text + "'",
                         "choose " + joinChoices(choices));
}

llvm::Expected<MemorySize> MemorySize::parse(StringRef option, StringRef text,
                                             bool allowPercent) {
  static constexpr std::pair<StringLiteral, double> units[] = {
      {"", 1},
      {"KiB", 1024.0},
      {"MiB", 1024.0 * 1024},
      {"GiB", 1024.0 * 1024 * 1024},
      {"MB", 1e6},
      {"GB", 1e9},
      {"%", 0}};
  StringRef whole = text;
  // Only limits that allow a percentage can be exceeded.
  bool isLeast = allowPercent && text.consume_front("at-least:");
  double number = -1;
  auto parsed = std::from_chars(text.begin(), text.end(), number);
  StringRef unit = StringRef(parsed.ptr, text.end() - parsed.ptr).ltrim(' ');
  const auto *known = llvm::find_if(
      units, [&](const auto &known) { return known.first == unit; });
  bool isPercent = unit == "%";
  double bytes = known == std::end(units) ? -1 : number * known->second;
  if (parsed.ec != std::errc() || !(number >= 0) || bytes < 0 || bytes > 9e18 ||
      (isPercent && (number > 100 || !allowPercent))) {
    // What other programs accept, with either meaning.
    std::string hint = "give bytes, or a number with KiB, MiB, GiB, MB or GB";
    if (unit == "K" || unit == "M" || unit == "G")
      hint = "give " +
             StringRef(text.begin(), parsed.ptr - text.begin()).str() +
             unit.str() + "iB, for powers of 1024" +
             (unit == "K"
                  ? ", or bytes"
                  : ", or " + text.rtrim().str() + "B, for powers of 1000");
    if (allowPercent)
      hint += ", or a percentage of the activations such as 50%";
    return makeOptionError(option,
                           whole.empty() ? "the size is empty"
                                         : "invalid size '" + whole.str() + "'",
                           hint);
  }
  MemorySize size;
  size.number = isPercent ? number : bytes;
  size.isPercent = isPercent;
  size.isLeast = isLeast;
  size.text = whole.str();
  return size;
}

llvm::Expected<RematRule> RematRule::parse(StringRef option, StringRef text) {
  auto [key, value] = text.split('=');
  if ((key != "save" && key != "recompute") || value.empty())
    return makeOptionError(
        option, "'" + text + "' is not save=REGEX or recompute=REGEX",
        "name ONNX nodes, like save=attn");
  auto pattern = NamePattern::parse(option, value);
  if (!pattern)
    return pattern.takeError();
  return RematRule{key == "save", std::move(*pattern)};
}

llvm::Expected<RematNames>
RematNames::combine(StringRef option, llvm::ArrayRef<RematRule> rules) {
  RematNames names;
  for (const RematRule &rule : rules) {
    NamePattern &pattern = rule.saves ? names.save : names.recompute;
    if (!pattern.empty())
      return makeOptionError(option, "'" + rule.getKey() + "' is given twice",
                             "join the expressions with |");
    pattern = rule.pattern;
  }
  return names;
}

llvm::Expected<ParameterGroup> ParameterGroup::parse(StringRef option,
                                                     StringRef text) {
  auto [name, value] = text.split('=');
  bool isName = !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '-';
  });
  if (!isName || value.empty())
    return makeOptionError(option, "'" + text + "' is not NAME=REGEX",
                           "as in --group head=classifier; a name has letters, "
                           "digits, - and _");
  auto pattern = NamePattern::parse(option, value);
  if (!pattern)
    return pattern.takeError();
  return ParameterGroup{name.str(), std::move(*pattern)};
}

/// The axes along which partitions can be.
static constexpr llvm::StringLiteral kAxes[] = {"tensor", "inner"};
/// The axes of which ranks can have parts of tensors.
static constexpr llvm::StringLiteral kSplitAxes[] = {"tensor"};

llvm::Expected<AxisSize> AxisSize::parse(StringRef option, StringRef text) {
  auto [axis, count] = text.split('=');
  AxisSize size{axis.str()};
  constexpr int64_t most = 1 << 16;
  if (!llvm::is_contained(kAxes, axis) || count.getAsInteger(10, size.ranks) ||
      size.ranks < 1 || size.ranks > most)
    return makeOptionError(
        option, "'" + text + "' is no axis with its ranks",
        "as in tensor=2, or inner=2 with --zero; the ranks that "
        "a run has besides are along data");
  return size;
}

llvm::Expected<PartitionRule> PartitionRule::parse(StringRef option,
                                                   StringRef text) {
  auto [name, how] = text.rsplit('=');
  PartitionRule rule;
  auto [number, axis] = how.split(':');
  int64_t dim = 0;
  bool isWhole = how == "whole";
  if (name.empty() || (!isWhole && (number.getAsInteger(10, dim) || dim < 0 ||
                                    !llvm::is_contained(kSplitAxes, axis))))
    return makeOptionError(option, "'" + text + "' is not REGEX=DIM:AXIS",
                           "as in --partition lm_head=0:tensor, or "
                           "lm_head=whole for a tensor that is not split");
  auto pattern = NamePattern::parse(option, name);
  if (!pattern)
    return pattern.takeError();
  rule.pattern = std::move(*pattern);
  if (!isWhole) {
    rule.dim = dim;
    rule.axis = axis.str();
  }
  return rule;
}
