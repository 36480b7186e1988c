// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Values of --prune: how much of weights is pruned, in which pattern and when,
// and which weights.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_OPTIONS_PRUNERULE_H
#define INGOT_PASSES_OPTIONS_PRUNERULE_H

#include "passes/options/OptionValues.h"

#include <cstdint>

namespace ingot {

/// `SHARE`, `N:M` or `block:RxC,share=SHARE`, then `,schedule=STEP` or
/// `,schedule=BEGIN:END:EVERY`, then `@REGEX`; what follows the first part may
/// be absent.
struct PruneRule {
  /// The part of the weight that is pruned in the end.
  double share = 0.5;
  /// The elements of a block along outputs and inputs; 0 for single elements.
  int64_t rows = 0, columns = 0;
  /// If not 0, the share is one of each group of that many inputs.
  int64_t group = 0;
  /// The steps after which pruning begins and ends, and those between two
  /// changes.
  int64_t begin = 0, end = 0, every = 1;
  /// Finds names of weights and paths of layers; empty for all layers.
  NamePattern pattern;

  static llvm::Expected<PruneRule> parse(llvm::StringRef option,
                                         llvm::StringRef text);

  bool hasBlocks() const { return rows != 0; }
  /// Whether it is about outputs and inputs, which only layers have.
  bool needsLayer() const { return hasBlocks() || group != 0; }
  /// Returns the rule as it was written.
  const std::string &getText() const { return text; }

private:
  llvm::Error parsePattern(llvm::StringRef option, llvm::StringRef pattern);
  llvm::Error parseSchedule(llvm::StringRef option, llvm::StringRef schedule);

  std::string text;
};

} // namespace ingot

#endif // INGOT_PASSES_OPTIONS_PRUNERULE_H
