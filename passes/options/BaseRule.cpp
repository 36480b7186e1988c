// SPDX-License-Identifier: Apache-2.0

#include "passes/options/BaseRule.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using llvm::StringRef;

/// An example that hints give.
static constexpr llvm::StringLiteral kExample = "nf4:block=64,double";
static constexpr int64_t kLeastBlock = 16, kMostBlock = 4096;

llvm::Expected<BaseRule> BaseRule::parse(StringRef option, StringRef text) {
  BaseRule rule;
  rule.text = text.str();
  auto [what, expression] = text.split('@');
  auto [kind, settings] = what.split(':');
  if (!llvm::is_contained(kBaseKinds, kind))
    return makeOptionError(option, "unknown encoding '" + kind + "'",
                           "choose " + joinChoices(kBaseKinds) + ", as in " +
                               kExample);
  rule.kind = kind.str();
  while (!settings.empty()) {
    StringRef setting;
    std::tie(setting, settings) = settings.split(',');
    auto [name, value] = setting.split('=');
    if (name == "block") {
      if (value.getAsInteger(10, rule.block) || rule.block < kLeastBlock ||
          rule.block > kMostBlock || !llvm::isPowerOf2_64(rule.block))
        return makeOptionError(
            option, "block of '" + value + "' is no size of blocks",
            "give a power of two from 16 to 4096, as in " + kExample);
    } else if (setting == "double") {
      rule.isDouble = true;
    } else {
      return makeOptionError(option, "unknown setting '" + setting + "'",
                             "settings are block and double, as in " +
                                 kExample);
    }
  }
  if (rule.isDouble && StringRef(rule.kind).starts_with("int"))
    return makeOptionError(option,
                           "scales of " + rule.kind + " are not encoded",
                           "leave out double, or choose nf4 or fp4");
  if (text.contains('@')) {
    auto pattern = NamePattern::parse(option, expression);
    if (!pattern)
      return pattern.takeError();
    rule.pattern = std::move(*pattern);
  }
  return rule;
}
