// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// One way to train a model on many ranks, as options of ingotc say it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_LAYOUT_H
#define INGOT_PASSES_PLAN_LAYOUT_H

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
  /// The ranks that have all shards of --zero among them; 1 if all along data
  /// have.
  int64_t inner = 1;
  /// The percentage of the activations that is kept, at least: what is not is
  /// computed again.
  int64_t kept = kKeepsAll;

  static constexpr int64_t kKeepsAll = 100;

  int64_t getDataRanks() const { return ranks / tensor; }

  /// Returns the options that compile it.
  std::vector<std::string> getWords() const;
  /// Returns it in a few words for a table.
  std::string describe() const;
};

} // namespace ingot

#endif // INGOT_PASSES_PLAN_LAYOUT_H
