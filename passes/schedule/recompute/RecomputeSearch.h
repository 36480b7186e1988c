// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which operations run a second time in the backward pass, so that their
// results need not be kept from the forward pass (rematerialization).
//
// A plan is a set of buffers: each is computed at most once more, right before
// its first late reader, so the times of a set add up. Plans form one sequence
// that does not depend on the budget: from what the user asks for, each next
// plan adds the chains of operations that free memory at the present peak, and
// do not need more elsewhere, at the least time a byte (after "Efficient
// Rematerialization for Deep Networks", Kumar et al., 2019, and "Training Deep
// Nets with Sublinear Memory Cost", Chen et al., 2016, whose segments are such
// chains). Where the graph is small enough, a local search then looks at each
// of their peaks for a plan that takes less time (RecomputeRefinement.cpp). A
// budget takes the plan that takes the least time of those that fit, less what
// it can do without: what runs once again as long as the peak rises by that and
// stays within the budget. A smaller budget never peaks higher: either its plan
// is another one, and the larger budget's is above the smaller budget before it
// rises; or it is the same, and the first difference is something that only
// the larger budget allows.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_RECOMPUTE_RECOMPUTESEARCH_H
#define INGOT_PASSES_SCHEDULE_RECOMPUTE_RECOMPUTESEARCH_H

#include "passes/schedule/graph/StepGraph.h"

namespace ingot {

struct RecomputePlan {
  /// The graph with copies, their order, and the memory intervals.
  StepGraph graph;
  llvm::SmallVector<unsigned> order;
  StepGraph::Lifetimes lifetimes;
  /// The maximum of live bytes, and its position in the order.
  int64_t liveBytes = 0, peak = 0;
  /// The live bytes above a limit just below the maximum, summed over instants.
  int64_t excess = 0;
  /// Bytes of the arena; 0 before it is packed.
  int64_t arenaBytes = 0;
};

/// The recipe to recompute one buffer.
struct RecomputeRecipe {
  double seconds = 0;
  /// The buffers that are read.
  llvm::SmallVector<unsigned, 4> reads;
  /// The buffers that are computed at the same time at no extra cost.
  llvm::SmallVector<unsigned, 2> siblings;
};

class RecomputeSearch {
public:
  /// Buffers in `allowed` that are read after the node `cut` may be recomputed;
  /// those of `again` are in any case. `recipes` has an entry per buffer.
  RecomputeSearch(const StepGraph &graph, unsigned cut,
                  llvm::ArrayRef<RecomputeRecipe> recipes,
                  llvm::BitVector allowed, llvm::BitVector again);

  /// Returns the first plan whose arena has at most `bytes`; none if there is
  /// none.
  std::optional<RecomputePlan> find(int64_t bytes);
  /// Returns the plan with the smallest arena, after a `find` without success.
  RecomputePlan findSmallest();
  /// Returns the buffers that the plan recomputes, and the time that this
  /// takes.
  const llvm::BitVector &getAgain() const { return again; }
  double getSeconds() const;

private:
  struct Chain {
    llvm::SmallVector<unsigned> buffers;
    /// The bytes that it frees at the peak.
    int64_t saved = 0;
    /// The time in seconds per byte.
    double score = 0;
  };

  /// A plan that has been evaluated.
  struct Tried {
    double seconds;
    int64_t liveBytes;
    llvm::BitVector again;
  };

  RecomputePlan makePlan() const;
  void remember(const RecomputePlan &plan);
  std::optional<RecomputePlan> findCheapest(int64_t bytes);
  int64_t countAttempts() const;
  void refine();
  void exchange(int64_t bytes, int64_t &attempts);
  bool complete(int64_t bytes, std::optional<unsigned> without, double seconds,
                int64_t &attempts);
  void drop(int64_t bytes, int64_t &attempts);
  void prune();
  llvm::SmallVector<unsigned> listDearest() const;
  llvm::SmallVector<Chain> listChains(const RecomputePlan &plan);
  bool extend(RecomputePlan &plan);
  RecomputePlan trim(RecomputePlan plan, int64_t bytes);
  void findLifetimes(const RecomputePlan &plan);
  std::optional<Chain> findChain(unsigned buffer, int64_t peak) const;
  void addRelatives(Chain &chain, double time, int64_t peak) const;
  bool livesAcross(unsigned buffer, int64_t peak) const;

  const StepGraph &graph;
  unsigned cut;
  llvm::ArrayRef<RecomputeRecipe> recipes;
  llvm::BitVector allowed, required, again;
  /// The order without copies.
  llvm::SmallVector<unsigned> base;
  /// The buffers that are computed from each buffer.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>> users;
  llvm::SmallVector<Tried> tried;
  /// For each buffer, under the current plan: the instants when it is written,
  /// last read early, first read late, and last read at all.
  llvm::SmallVector<int64_t> written, lastEarly, firstLate, lastRead;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_RECOMPUTE_RECOMPUTESEARCH_H
