// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The location in memory and the lifetime of each tensor of a function.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_ARENA_BUFFERPLAN_H
#define INGOT_PASSES_SCHEDULE_ARENA_BUFFERPLAN_H

#include "dialects/exec/Exec.h"
#include "passes/schedule/arena/ArenaUse.h"
#include "passes/schedule/graph/SideRegions.h"

namespace ingot {

/// A location in memory.
struct Place {
  exec::Space space = exec::Space::Arena;
  int64_t offset = 0;
  /// Within loops: the bytes from one iteration to the next, of the outermost
  /// loop first; 0 for those that are left out.
  llvm::SmallVector<int64_t, 2> strides;

  bool operator==(const Place &other) const {
    return space == other.space && offset == other.offset &&
           strides == other.strides;
  }
};

/// A copy at the end of the step, or at its beginning.
struct StepCopy {
  mlir::Value value;
  Place from, to;
};

/// The memory plan of one function of fusions, library calls and views, in its
/// order.
class BufferPlan {
public:
  /// Plans the function; `statePlaces` has the location of each state by
  /// symbol. The plan begins at `base` in the arena: that of the body of a loop
  /// is part of another one.
  BufferPlan(Signature signature,
             const llvm::DenseMap<mlir::Attribute, Place> &statePlaces,
             const Target &target, bool noReuse, int64_t base = 0);

  /// Returns the location of a tensor.
  Place getPlace(mlir::Value value) const;
  /// Returns the scratch memory of an operation; none if it needs none.
  std::optional<Interval> getScratch(mlir::Operation *op) const;
  /// Returns the location of the output that result `index` is; none if it is a
  /// state.
  std::optional<Place> getOutputPlace(unsigned index) const;
  /// Returns the copies before all operations, and those at the end of the
  /// step.
  llvm::ArrayRef<StepCopy> getFirstCopies() const { return firstCopies; }
  llvm::ArrayRef<StepCopy> getFinalCopies() const { return copies; }
  /// Returns, for each operand of a fusion, the result whose memory it shares,
  /// or -1.
  llvm::SmallVector<int64_t> getAliases(FusionOp fusion) const;

  /// Returns the intervals of the arena; instants are positions of ops that are
  /// not views.
  llvm::ArrayRef<Interval> getIntervals() const { return lifetimes.intervals; }
  int64_t getArenaBytes() const { return arenaBytes; }
  const ArenaUse &getUse() const { return use; }
  llvm::SmallVector<LiveTensor> listLive() const {
    return listLiveTensors(graph, lifetimes);
  }
  /// Returns the purpose of each interval.
  llvm::SmallVector<llvm::StringRef> listIntervalKinds() const {
    return listKinds(graph, lifetimes);
  }
  /// Returns the regions concurrent with others; instants are those of
  /// intervals.
  llvm::SmallVector<SideRegion> getSideRegions() const {
    return llvm::to_vector(
        NodeTimes(graph.getNodes(), graph.getProgramOrder()).getRegions());
  }
  unsigned getStatesInPlace() const { return graph.getStatesInPlace(); }

private:
  void copyStates();

  Signature signature;
  const llvm::DenseMap<mlir::Attribute, Place> &statePlaces;
  StepGraph graph;
  StepGraph::Lifetimes lifetimes;
  llvm::DenseMap<mlir::Operation *, unsigned> scratch;
  /// The outputs that need memory of their own.
  llvm::DenseMap<unsigned, unsigned> ownOutput;
  llvm::SmallVector<StepCopy> firstCopies, copies;
  int64_t arenaBytes = 0, base;
  ArenaUse use;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_ARENA_BUFFERPLAN_H
