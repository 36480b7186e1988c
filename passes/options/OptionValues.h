// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Values of options as users write them: one place reads and checks each kind,
// for passes, pipelines and tools. Errors are UserErrors about the option.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_OPTIONS_OPTIONVALUES_H
#define INGOT_PASSES_OPTIONS_OPTIONVALUES_H

#include "dialects/ingot/support/NamePattern.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace ingot {

/// Types in which contractions, and the optimizer's moments, can be stored.
inline constexpr llvm::StringLiteral kPrecisions[] = {"fp32", "bf16", "fp16"};
/// Precisions that a trainer can be compiled for: in fp8, matmuls of bf16 read
/// 8 bits.
inline constexpr llvm::StringLiteral kTrainerPrecisions[] = {"fp32", "bf16",
                                                             "fp16", "fp8"};
inline constexpr llvm::StringLiteral kFloat8Scalings[] = {"current", "delayed",
                                                          "block", "mx"};
inline constexpr llvm::StringLiteral kOptimizerPrecisions[] = {"fp32", "bf16",
                                                               "dyn8"};

/// The word that --no-decay takes instead of a regular expression.
inline constexpr llvm::StringLiteral kNormsAndBiases = "norms-and-biases";

/// `a, b or c`.
std::string joinChoices(llvm::ArrayRef<llvm::StringLiteral> choices);

/// Succeeds if `text` is one of the choices.
llvm::Error checkChoice(llvm::StringRef option, llvm::StringRef text,
                        llvm::ArrayRef<llvm::StringLiteral> choices);

/// SIZE, as bytes or with a unit, or N%; with `at-least:` before it, more where
/// that is not possible. Empty for an option that was not given.
class MemorySize {
public:
  double number = 0;
  bool isPercent = false;
  bool isLeast = false;

  static llvm::Expected<MemorySize>
  parse(llvm::StringRef option, llvm::StringRef text, bool allowPercent = true);

  bool empty() const { return text.empty(); }
  /// Returns the size as it was written.
  const std::string &getText() const { return text; }

private:
  std::string text;
};

/// `save=REGEX` or `recompute=REGEX`: whether the results of nodes with such
/// names are saved or recomputed.
struct RematRule {
  bool saves = false;
  NamePattern pattern;

  static llvm::Expected<RematRule> parse(llvm::StringRef option,
                                         llvm::StringRef text);

  llvm::StringRef getKey() const { return saves ? "save" : "recompute"; }
  std::string getText() const {
    return (getKey() + "=" + pattern.getText()).str();
  }
};

/// The user's choices for recomputation: the names of nodes whose results are
/// saved, and recomputed.
struct RematNames {
  NamePattern save, recompute;

  /// Fails with a UserError if two rules are of the same kind.
  static llvm::Expected<RematNames> combine(llvm::StringRef option,
                                            llvm::ArrayRef<RematRule> rules);
};

/// `NAME=REGEX`: parameters that go by a name together.
struct ParameterGroup {
  std::string name;
  NamePattern pattern;

  static llvm::Expected<ParameterGroup> parse(llvm::StringRef option,
                                              llvm::StringRef text);

  std::string getText() const { return name + "=" + pattern.getText(); }
};

/// `AXIS=N`: how many ranks there are along an axis of the mesh of ranks.
struct AxisSize {
  std::string axis;
  int64_t ranks = 1;

  static llvm::Expected<AxisSize> parse(llvm::StringRef option,
                                        llvm::StringRef text);

  std::string getText() const { return axis + "=" + std::to_string(ranks); }
};

/// `REGEX=DIM:AXIS` or `REGEX=whole`: how states of such names are split.
struct PartitionRule {
  NamePattern pattern;
  /// The dimension that an axis splits; none for whole tensors.
  std::optional<int64_t> dim;
  std::string axis;

  static llvm::Expected<PartitionRule> parse(llvm::StringRef option,
                                             llvm::StringRef text);

  std::string getText() const {
    return pattern.getText() + "=" +
           (dim ? std::to_string(*dim) + ":" + axis : "whole");
  }
};

/// A value that knows how users write it.
template <typename T>
concept WrittenValue = requires(const T value, llvm::StringRef text) {
  { T::parse(text, text) } -> std::same_as<llvm::Expected<T>>;
  { value.getText() } -> std::convertible_to<std::string>;
};

} // namespace ingot

/// Parses such values as options of passes, as LLVM's parsers do those of its
/// types. An empty text is a value that was not given.
template <ingot::WrittenValue T>
class llvm::cl::parser<T> : public llvm::cl::basic_parser<T> {
public:
  using llvm::cl::basic_parser<T>::basic_parser;

  /// Returns whether parsing failed.
  bool parse(Option &option, StringRef /*name*/, StringRef text, T &value) {
    if (text.empty())
      return false;
    Expected<T> parsed = T::parse(option.ArgStr, text);
    if (parsed) {
      value = std::move(*parsed);
      return false;
    }
    errs() << "error: " << toString(parsed.takeError()) << "\n";
    return true;
  }

  /// Prints the value so that parse() reads it.
  static void print(raw_ostream &os, const T &value) {
    std::string text = value.getText();
    bool isQuoted = StringRef(text).find_first_of(" ,") != StringRef::npos;
    os << (isQuoted ? "{" : "") << text << (isQuoted ? "}" : "");
  }

  void printOptionDiff(const Option &option, const T & /*value*/,
                       const OptionValue<T> & /*initial*/, size_t width) const {
    this->printOptionNoValue(option, width);
  }
};

#endif // INGOT_PASSES_OPTIONS_OPTIONVALUES_H
