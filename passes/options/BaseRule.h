// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The value of --base: how weights that are not trained are encoded, and which.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_OPTIONS_BASERULE_H
#define INGOT_PASSES_OPTIONS_BASERULE_H

#include "passes/options/OptionValues.h"

#include <cstdint>

namespace ingot {

/// `KIND:SETTINGS@REGEX`, where settings and the expression may be absent.
struct BaseRule {
  std::string kind;
  int64_t block = 64;
  /// Whether scales are encoded as well.
  bool isDouble = false;
  /// Finds the names of the weights that are encoded; empty for all that can
  /// be.
  NamePattern pattern;

  static llvm::Expected<BaseRule> parse(llvm::StringRef option,
                                        llvm::StringRef text);

  bool empty() const { return kind.empty(); }
  bool match(llvm::StringRef name) const {
    return pattern.empty() || pattern.match(name);
  }
  /// Returns the rule as it was written.
  const std::string &getText() const { return text; }

private:
  std::string text;
};

} // namespace ingot

#endif // INGOT_PASSES_OPTIONS_BASERULE_H
