// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/options/QuantizationRule.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace ingot;
using namespace ingot::onnx_import;
using llvm::StringRef;

/// An example that hints give.
static constexpr llvm::StringLiteral kExample = "int8:per-channel@layers";

static llvm::Error fail(const llvm::Twine &what, const llvm::Twine &hint) {
  return makeOptionError("qat", what, hint);
}

static llvm::Error parseSetting(StringRef setting, QuantizationRule &rule) {
  auto [name, value] = setting.split('=');
  if (setting == "learned") {
    rule.learned = true;
  } else if (setting == "per-channel" && !rule.isInt4) {
    rule.perChannel = true;
  } else if (setting == "reduce-range" && !rule.isInt4) {
    rule.reducesRange = true;
  } else if (setting == "fold" && !rule.isInt4) {
    rule.foldsNorms = true;
  } else if (name == "block" && rule.isInt4) {
    constexpr int64_t fewest = 16, most = 256;
    if (value.getAsInteger(10, rule.block) || rule.block < fewest ||
        rule.block > most || !llvm::isPowerOf2_64(rule.block))
      return fail("block of '" + value + "' is none of ONNX Runtime's",
                  "give 16, 32, 64, 128 or 256");
  } else {
    return fail("unknown setting '" + setting + "' of " +
                    (rule.isInt4 ? "int4" : "int8"),
                rule.isInt4 ? "settings of int4 are learned and block=N, whose "
                              "blocks have scales of their own"
                            : "settings of int8 are per-channel, learned, "
                              "reduce-range and fold, as in " +
                                  llvm::Twine(kExample));
  }
  return llvm::Error::success();
}

llvm::Expected<QuantizationRule> QuantizationRule::parse(StringRef text) {
  QuantizationRule rule;
  rule.text = text.str();
  auto [what, pattern] = text.split('@');
  auto [kind, settings] = what.split(':');
  if (kind != "int8" && kind != "int4")
    return fail("unknown kind '" + kind + "'",
                "choose int8 or int4, as in " + llvm::Twine(kExample));
  rule.isInt4 = kind == "int4";
  while (!settings.empty()) {
    StringRef setting;
    std::tie(setting, settings) = settings.split(',');
    if (llvm::Error error = parseSetting(setting, rule))
      return error;
  }
  if (rule.learned && rule.reducesRange)
    return fail("learned scales do not keep to a reduced range",
                "leave out learned, or reduce-range");
  if (pattern.empty() && text.contains('@'))
    return fail("names no layers", "give an expression after @, or leave both "
                                   "out to quantize all layers");
  if (!pattern.empty()) {
    auto parsed = NamePattern::parse("qat", pattern);
    if (!parsed)
      return parsed.takeError();
    rule.layers = std::move(*parsed);
  }
  return rule;
}
