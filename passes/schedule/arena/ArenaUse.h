//===----------------------------------------------------------------------===//
//
// What the memory of the arena is for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_ARENA_ARENAUSE_H
#define INGOT_PASSES_SCHEDULE_ARENA_ARENAUSE_H

#include "passes/schedule/StepGraph.h"

namespace ingot {

/// The arena at the instant when most of it lives.
struct ArenaUse {
  int64_t liveBytes = 0;
  /// Of these, gradients of parameters, what library calls work in, and buckets
  /// that gradients are copied to.
  int64_t gradientBytes = 0, workspaceBytes = 0, communicationBytes = 0;
};

/// Bytes in addition to the arena that the target stages the function's inputs
/// in (Target::getStagingBlocks).
int64_t getStagingBytes(Signature signature, const Target &target);

ArenaUse measureArenaUse(const StepGraph &graph,
                         const StepGraph::Lifetimes &lifetimes);

/// Returns what each interval is for: input, activation, gradient,
/// communication, workspace or output.
llvm::SmallVector<llvm::StringRef>
listKinds(const StepGraph &graph, const StepGraph::Lifetimes &lifetimes);

/// Memory that lives at that instant.
struct LiveTensor {
  /// See listKinds.
  llvm::StringRef kind;
  /// Of the tensor, or of the library call that works there.
  mlir::Location location;
  int64_t bytes;
};

/// Returns what lives at that instant, the largest first, in the program's
/// order.
llvm::SmallVector<LiveTensor>
listLiveTensors(const StepGraph &graph, const StepGraph::Lifetimes &lifetimes);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_ARENA_ARENAUSE_H
