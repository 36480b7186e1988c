// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The purposes of the memory of the arena.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_ARENA_ARENAUSE_H
#define INGOT_PASSES_SCHEDULE_ARENA_ARENAUSE_H

#include "passes/schedule/graph/StepGraph.h"

namespace ingot {

/// The use of the arena at the instant with the most live bytes.
struct ArenaUse {
  int64_t liveBytes = 0;
  /// The parts of it that are gradients of parameters, scratch memory of
  /// library calls, and buckets that gradients are copied to.
  int64_t gradientBytes = 0, workspaceBytes = 0, communicationBytes = 0;
};

/// Returns the bytes in addition to the arena in which the target stages the
/// function's inputs (Target::getStagingBlocks).
int64_t getStagingBytes(Signature signature, const Target &target);

ArenaUse measureArenaUse(const StepGraph &graph,
                         const StepGraph::Lifetimes &lifetimes);

/// Returns the purpose of each interval: input, activation, gradient,
/// communication, workspace or output.
llvm::SmallVector<llvm::StringRef>
listKinds(const StepGraph &graph, const StepGraph::Lifetimes &lifetimes);

/// Memory that is live at that instant.
struct LiveTensor {
  /// The purpose, as listKinds names it.
  llvm::StringRef kind;
  /// The location of the tensor, or of the library call that uses the scratch
  /// memory.
  mlir::Location location;
  int64_t bytes;
};

/// Returns the memory that is live at that instant, the largest first,
/// otherwise in program order.
llvm::SmallVector<LiveTensor>
listLiveTensors(const StepGraph &graph, const StepGraph::Lifetimes &lifetimes);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_ARENA_ARENAUSE_H
