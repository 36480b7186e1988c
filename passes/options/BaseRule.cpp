// SPDX-License-Identifier: Apache-2.0

#include "passes/options/BaseRule.h"

#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using llvm::StringRef;

/// An example that hints give.
static constexpr llvm::StringLiteral kExample = "nf4:block=64,double";
/// Smaller blocks take more bytes for scales than codes save.
static constexpr int64_t kLeastBlock = 16;

llvm::Expected<BaseRule> BaseRule::parse(StringRef option, StringRef text) {
  BaseRule rule;
  rule.text = text.str();
  auto [what, expression] = text.split('@');
  auto [kind, settings] = what.split(':');
  if (!llvm::is_contained(kEncodingKinds, kind))
    return makeOptionError(option, "unknown encoding '" + kind + "'",
                           "choose " + joinChoices(kEncodingKinds) +
                               ", as in " + kExample);
  rule.kind = kind.str();
  while (!settings.empty()) {
    StringRef setting;
    std::tie(setting, settings) = settings.split(',');
    auto [name, value] = setting.split('=');
    if (name == "block") {
      constexpr int64_t most = quantization::Encoding::kMostBlock;
      if (value.getAsInteger(10, rule.block) || rule.block < kLeastBlock ||
          rule.block > most || !llvm::isPowerOf2_64(rule.block))
        return makeOptionError(
            option, "block of '" + value + "' is no size of blocks",
            "give a power of two from " + llvm::Twine(kLeastBlock) + " to " +
                llvm::Twine(most) + ", as in " + kExample);
    } else if (setting == "double") {
      rule.isDouble = true;
    } else {
      return makeOptionError(option, "unknown setting '" + setting + "'",
                             "settings are block and double, as in " +
                                 kExample);
    }
  }
  if (parseEncoding(rule.kind, rule.block, rule.isDouble)->isDouble !=
      rule.isDouble)
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
