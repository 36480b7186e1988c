// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Compares layouts by what is estimated of them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_SEARCH_H
#define INGOT_PASSES_PLAN_SEARCH_H

#include "passes/plan/Estimate.h"

#include <set>

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
  /// The ranks that have all shards among them; 0 for any.
  int64_t inner = 0;
  /// The percentages of the activations that are kept, from all on.
  std::vector<int64_t> kept = {Layout::kKeepsAll};
  /// Layouts that are left out, as Layout::describe() says them, and those that
  /// do not fit although they are estimated to.
  std::set<std::string> known, tooLarge;

  /// Returns the ranks that can compute a step together: divisors of all ranks,
  /// within a unit of the first level of links.
  static std::vector<int64_t> listTensorRanks(const Cluster &cluster,
                                              int64_t ranks);
  /// Returns the ranks of a unit of each level of links but the last, by
  /// `tensor` ranks that compute together: those that can have all shards among
  /// them.
  static std::vector<int64_t> listInnerRanks(const Cluster &cluster,
                                             int64_t ranks, int64_t tensor);
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
/// the last of these are not estimated, and activations are computed again only
/// where the layout does not fit otherwise. More ranks compute together as long
/// as that makes steps faster.
SearchResult search(const SearchSpace &space, const Cluster &cluster,
                    Estimator &estimator, size_t count);

} // namespace ingot

#endif // INGOT_PASSES_PLAN_SEARCH_H
