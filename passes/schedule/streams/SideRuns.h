// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Runs of operations for the second stream: the order of their operations by
// when these are needed, and where one run ends and the next begins.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_STREAMS_SIDERUNS_H
#define INGOT_PASSES_SCHEDULE_STREAMS_SIDERUNS_H

#include "passes/schedule/graph/StepGraph.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace ingot {

/// The least time of a region, and the least that it can wait, in launches: a
/// region takes two more edges of the graph.
inline constexpr double kLeastLaunches = 3;

/// A run of nodes in the order: [first, end).
struct SideRun {
  unsigned first, end;
  bool isDropped = false;
};

/// Marks the operations of the runs that are not dropped (kSideAttr), numbered
/// in their order.
void markRuns(llvm::ArrayRef<SideRun> runs, const StepGraph &graph);

/// Drops runs until the arena takes at most `most` bytes, those that keep
/// memory alive at the peak first, and marks the others.
void fitRuns(llvm::MutableArrayRef<SideRun> runs, const StepGraph &graph,
             const Target &target, int64_t most);

/// When the first stream needs each node of the runs, if it never waits. Times
/// are in seconds from the start of a node's run.
class SideUses {
public:
  /// `seconds` are those of each node.
  SideUses(llvm::ArrayRef<SideRun> runs, const StepGraph &graph,
           llvm::ArrayRef<double> seconds, const Machine &machine);

  /// Puts the nodes of runs into the order in which they are needed, where not
  /// all of a run is done by then. Returns false if there is none.
  bool sort() const;

  /// Divides runs so that what is needed first is not waited for together with
  /// what is done later.
  llvm::SmallVector<SideRun> split() const;

private:
  /// Returns whether what comes at `done` should not be waited for together
  /// with what is needed at `first`.
  bool isLate(double done, double use, double first) const;

  llvm::ArrayRef<SideRun> runs;
  const StepGraph &graph;
  llvm::ArrayRef<double> seconds;
  const Machine &machine;
  /// By node; the end of the step where nothing of the first stream needs it.
  llvm::SmallVector<double> uses;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_STREAMS_SIDERUNS_H
