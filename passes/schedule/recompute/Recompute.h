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
// of their peaks for a plan that takes less time (Refine.cpp). A budget takes
// the plan that takes the least time of those that fit, less what it can do
// without: what runs once again as long as the peak rises by that and stays
// within the budget. A smaller budget never peaks higher: either its plan is
// another one, and the larger budget's is above the smaller budget before it
// rises; or it is the same, and the first difference is something that only
// the larger budget allows.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_RECOMPUTE_RECOMPUTE_H
#define INGOT_PASSES_SCHEDULE_RECOMPUTE_RECOMPUTE_H

#include "passes/schedule/StepGraph.h"

namespace ingot {

struct RecomputePlan {
  /// The graph with copies, their order, and where everything lies.
  StepGraph graph;
  llvm::SmallVector<unsigned> order;
  StepGraph::Lifetimes lifetimes;
  /// The most bytes that live at once, and at which position of the order.
  int64_t liveBytes = 0, peak = 0;
  /// Bytes that live above a limit just below that, summed over instants.
  int64_t excess = 0;
  /// Bytes of the arena; 0 before it is packed.
  int64_t arenaBytes = 0;
};

/// How one buffer is computed again.
struct RecomputeRecipe {
  double seconds = 0;
  /// Buffers that are read.
  llvm::SmallVector<unsigned, 4> reads;
  /// Buffers that come with it, in no more time.
  llvm::SmallVector<unsigned, 2> siblings;
};

class RecomputeSearch {
public:
  /// Buffers in `allowed` that are read after the node `cut` may be computed
  /// again; those of `again` are in any case. `recipes`: of each buffer.
  RecomputeSearch(const StepGraph &graph, unsigned cut,
                  llvm::ArrayRef<RecomputeRecipe> recipes,
                  llvm::BitVector allowed, llvm::BitVector again);

  /// Returns the first plan whose arena has at most `bytes`; none if there is
  /// none.
  std::optional<RecomputePlan> find(int64_t bytes);
  /// After a `find` in vain: the plan with the smallest arena.
  RecomputePlan findSmallest();
  /// Returns what the plan computes again, and its time.
  const llvm::BitVector &getAgain() const { return again; }
  double getSeconds() const;

private:
  struct Chain {
    llvm::SmallVector<unsigned> buffers;
    /// Bytes that it frees at the peak.
    int64_t saved = 0;
    /// Seconds a byte.
    double score = 0;
  };

  /// A plan that has been looked at.
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
  /// Of each buffer, those that are computed from it.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>> users;
  llvm::SmallVector<Tried> tried;
  /// Per buffer, under the present plan: when it is written, last read early,
  /// first read late, last read at all.
  llvm::SmallVector<int64_t> written, lastEarly, firstLate, lastRead;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_RECOMPUTE_RECOMPUTE_H
