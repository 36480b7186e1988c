// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// One way to train a model on many ranks, as options of ingotc say it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_LAYOUT_H
#define INGOT_PASSES_PLAN_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace ingot {

struct Layout {
  int64_t ranks = 1;
  /// The ranks that compute a step together.
  int64_t tensor = 1;
  unsigned zero = 0;
  /// The samples of a micro-batch, and the micro-batches of a step.
  int64_t batch = 1, microBatches = 1;
  /// The place in the list of budgets: how much is computed again.
  size_t budget = 0;

  int64_t getDataRanks() const { return ranks / tensor; }

  /// Returns the options that compile it. Of `budgets`, values of
  /// --memory-budget, the empty one is none.
  std::vector<std::string> getWords(llvm::ArrayRef<std::string> budgets) const;
  /// Returns it in a few words for a table.
  std::string describe(llvm::ArrayRef<std::string> budgets) const;
};

} // namespace ingot

#endif // INGOT_PASSES_PLAN_LAYOUT_H
