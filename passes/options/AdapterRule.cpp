// SPDX-License-Identifier: Apache-2.0

#include "passes/options/AdapterRule.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace ingot;
using llvm::StringRef;

/// An example that hints give.
static constexpr llvm::StringLiteral kExample =
    "lora:r=16,alpha=32@q_proj,v_proj";

/// Parses a finite number.
static bool parseNumber(StringRef text, double &number) {
  return !text.getAsDouble(number, /*AllowInexact=*/true) &&
         std::isfinite(number);
}

llvm::Error AdapterRule::parseSettings(StringRef option, StringRef settings) {
  auto fail = [&](const llvm::Twine &what, const llvm::Twine &hint) {
    return makeOptionError(option, what, hint);
  };
  while (!settings.empty()) {
    StringRef setting;
    std::tie(setting, settings) = settings.split(',');
    auto [name, value] = setting.split('=');
    constexpr int64_t maxRank = 1 << 16;
    if (name == "r") {
      if (value.getAsInteger(10, rank) || rank < 1 || rank > maxRank)
        return fail("r of '" + value + "' is no rank",
                    "give a number from 1 to 65536, as in " + kExample);
    } else if (name == "alpha") {
      if (!parseNumber(value, alpha))
        return fail("alpha of '" + value + "' is no number",
                    "give a number, as in " + kExample);
    } else if (name == "dropout") {
      if (!parseNumber(value, dropout) || dropout < 0 || dropout >= 1)
        return fail("dropout of '" + value + "' is no probability",
                    "give a number from 0 to less than 1, as in dropout=0.05");
    } else if (name == "bias") {
      if (!llvm::is_contained(kAdapterBiases, value))
        return fail("bias of '" + value + "' is unknown",
                    "choose " + joinChoices(kAdapterBiases));
      bias = value.str();
    } else {
      return fail("unknown setting '" + setting + "'",
                  "settings are r, alpha, dropout and bias, as in " + kExample);
    }
  }
  return llvm::Error::success();
}

llvm::Error AdapterRule::parseLayers(StringRef option, StringRef layers) {
  if (layers == kAllLinear)
    return llvm::Error::success();
  if (layers.size() > 2 && layers.front() == '/' && layers.back() == '/') {
    StringRef inner = layers.drop_front().drop_back();
    // Errors are about what was written, which is an expression on its own.
    auto written = NamePattern::parse(option, inner);
    if (!written)
      return written.takeError();
    auto whole = NamePattern::parse(option, ("^(" + inner + ")$").str());
    if (!whole)
      return whole.takeError();
    pattern = std::move(*whole);
    return llvm::Error::success();
  }
  while (!layers.empty()) {
    StringRef name;
    std::tie(name, layers) = layers.split(',');
    name = name.trim(' ');
    if (name.empty() || name.contains('/'))
      return makeOptionError(option, "'" + name + "' is no name of layers",
                             "give names such as q_proj,v_proj, an expression "
                             "as in /.*\\.q_proj/, or all-linear");
    names.push_back(name.str());
  }
  if (names.empty())
    return makeOptionError(option, "names no layers",
                           "say which layers have it, as in " + kExample +
                               " or lora@all-linear");
  return llvm::Error::success();
}

llvm::Expected<AdapterRule> AdapterRule::parse(StringRef option,
                                               StringRef text) {
  AdapterRule rule;
  rule.text = text.str();
  auto [what, layers] = text.split('@');
  auto [kind, settings] = what.split(':');
  if (!llvm::is_contained(kAdapterKinds, kind))
    return makeOptionError(option, "unknown kind of adapter '" + kind + "'",
                           "choose " + joinChoices(kAdapterKinds) + ", as in " +
                               kExample);
  rule.kind = kind.str();
  if (llvm::Error error = rule.parseSettings(option, settings))
    return error;
  if (llvm::Error error = rule.parseLayers(option, layers))
    return error;
  return rule;
}

double AdapterRule::getScale() const {
  double by = static_cast<double>(rank);
  return alpha / (isRankStabilized() ? std::sqrt(by) : by);
}

bool AdapterRule::matchName(StringRef name, StringRef path) {
  return path.consume_back(name) && (path.empty() || path.back() == '.');
}

bool AdapterRule::match(StringRef path) const {
  if (!pattern.empty())
    return pattern.match(path);
  return names.empty() || llvm::any_of(names, [&](StringRef name) {
           return matchName(name, path);
         });
}
