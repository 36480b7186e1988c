// SPDX-License-Identifier: Apache-2.0

#include "passes/options/DistillRule.h"

#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace ingot;
using llvm::StringRef;

/// Reads a number that is not below `least`, and not above `most`.
static llvm::Error readNumber(StringRef option, StringRef name, StringRef text,
                              double least, double most, double &value) {
  if (llvm::to_float(text, value) && std::isfinite(value) && value >= least &&
      value <= most)
    return llvm::Error::success();
  std::string range = most == HUGE_VAL
                          ? "give a number that is not negative"
                          : "give a number between 0 and " +
                                llvm::utostr(static_cast<uint64_t>(most));
  return makeOptionError(option, "'" + text + "' is no " + name,
                         range + ", as in " + DistillRule::kDefault);
}

/// Reads `STUDENT:TEACHER`; names may have colons as well, as many each.
static llvm::Error readPair(StringRef option, StringRef text,
                            DistillRule &rule) {
  size_t colons = text.count(':'), middle = StringRef::npos;
  for (size_t i = 0; i <= colons / 2 && colons % 2 == 1; ++i)
    middle = text.find(':', i == 0 ? 0 : middle + 1);
  auto pair =
      middle == StringRef::npos
          ? std::pair<StringRef, StringRef>()
          : std::pair(text.take_front(middle), text.drop_front(middle + 1));
  if (pair.first.empty() || pair.second.empty())
    return makeOptionError(option, "'" + text + "' is no pair of values",
                           "give names of values of both ONNX files, as in "
                           "pairs=STUDENT:TEACHER");
  rule.pairs.emplace_back(pair.first.str(), pair.second.str());
  return llvm::Error::success();
}

llvm::Expected<DistillRule> DistillRule::parse(StringRef option,
                                               StringRef text) {
  DistillRule rule;
  rule.text = text.str();
  llvm::SmallVector<StringRef> settings;
  text.split(settings, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef setting : settings) {
    auto [name, value] = setting.split('=');
    if (name == "temperature") {
      if (llvm::Error error =
              readNumber(option, name, value, 1e-3, HUGE_VAL, rule.temperature))
        return error;
    } else if (name == "alpha") {
      if (llvm::Error error = readNumber(option, name, value, 0, 1, rule.alpha))
        return error;
    } else if (name == "pair-weight") {
      if (llvm::Error error =
              readNumber(option, name, value, 0, HUGE_VAL, rule.pairWeight))
        return error;
    } else if (name == "pairs") {
      if (llvm::Error error = readPair(option, value, rule))
        return error;
    } else if (name == "precision") {
      bool isKnown = value == "bf16" || value == "fp16" ||
                     llvm::is_contained(kEncodingKinds, value);
      if (!isKnown)
        return makeOptionError(
            option, "'" + value + "' is no precision of a teacher",
            "choose bf16, fp16, " + joinChoices(kEncodingKinds) +
                ", or leave it out for that of --precision");
      rule.precision = value.str();
    } else {
      return makeOptionError(option, "unknown setting '" + name + "'",
                             "settings are temperature, alpha, pairs, "
                             "pair-weight and precision, as in " +
                                 kDefault);
    }
  }
  if (rule.alpha == 0 && rule.pairs.empty())
    return makeOptionError(option, "alpha of 0 without pairs has no teacher",
                           "give alpha above 0, or pairs=STUDENT:TEACHER");
  return rule;
}
