// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The nodes of a training step on a GPU, in its streams, with predicted times.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_GPU_TIMELINE_H
#define INGOT_PASSES_COST_GPU_TIMELINE_H

#include "dialects/exec/Exec.h"
#include "passes/cost/gpu/GpuModel.h"

namespace ingot::gpu_model {

struct Node {
  std::string name;
  /// The kind of work, named as for entry points: kernel, matmul, convolution,
  /// attention, copy, ...
  llvm::StringRef kind;
  double start = 0, end = 0;
  /// Whether it is in a region concurrent with other nodes.
  bool isBeside = false;
  NodeTime time;
  Traffic traffic;
};

/// One training step: nodes in order, and those of regions and exchanges beside
/// them.
struct Timeline {
  std::vector<Node> nodes;
  double seconds = 0, flops = 0, peak = 0;
  int64_t memoryBytes = 0, samples = 1, tokens = 0;
};

/// Predicts the training step of a module whose kernels are GPU functions; of
/// all micro-batches of it. Nothing if the module has no training step.
/// `isOrdered`: attention's gradients sum in a fixed order, as they do in
/// trainers without --nondeterministic.
std::optional<Timeline> predictStep(mlir::ModuleOp module, bool isOrdered);

/// Gives each call of the module's steps its time if nothing else runs, as
/// `exec.bound`.
void stateTimes(mlir::ModuleOp module, bool isOrdered);

/// Returns the timeline as text: a line for each node, then sums by kind and
/// the figures of the step.
std::string describeTimeline(const Timeline &timeline, llvm::StringRef machine);

} // namespace ingot::gpu_model

#endif // INGOT_PASSES_COST_GPU_TIMELINE_H
