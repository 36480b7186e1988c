// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Compares layouts by what is estimated of them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_SEARCH_H
#define INGOT_PASSES_PLAN_SEARCH_H

#include "passes/plan/Estimate.h"

namespace ingot {

/// The layouts that are compared.
struct SearchSpace {
  int64_t ranks = 1;
  /// The samples of a step of all ranks.
  int64_t globalBatch = 1;
  /// The memory of a rank.
  double memoryBytes = 0;
  /// The samples of a micro-batch; 0 for any.
  int64_t batch = 0;
  std::vector<int64_t> tensor;
  std::vector<unsigned> zero;

  /// Returns the ranks that can compute a step together: divisors of all ranks,
  /// within a unit of the first level of links.
  static std::vector<int64_t> listTensorRanks(const Cluster &cluster,
                                              int64_t ranks);
};

struct Candidate {
  Layout layout;
  RankPlan estimate;
  /// The replay of the compiled step; nothing before it.
  std::optional<RankPlan> replay;
  /// Why it cannot be compiled, if so.
  std::string problem;

  const RankPlan &getPlan() const { return replay ? *replay : estimate; }
};

struct SearchResult {
  /// The layouts that take the least time of those that fit, in their order.
  std::vector<Candidate> best;
  size_t compared = 0, fitting = 0;
  /// The one that takes the least memory, whether it fits or not.
  std::optional<Candidate> smallest;
};

/// Returns the best `count` layouts. Those whose calls alone take longer than
/// the last of these are not estimated.
SearchResult search(const SearchSpace &space, const Estimator &estimator,
                    size_t count);

} // namespace ingot

#endif // INGOT_PASSES_PLAN_SEARCH_H
