// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The compiler as one list of passes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PIPELINE_H
#define INGOT_PASSES_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <string>

namespace ingot {

class Target;

struct PipelineOptions {
  /// -O0 to -O3.
  unsigned level = 2;
  std::string loss, optimizer = "adamw", noDecay;
  bool clip = false;
  /// Micro-batches of a step.
  int64_t gradAccumulation = 1;
  /// fp32, bf16 or fp16.
  std::string precision = "fp32", keepFp32, forceLow;
  /// What the optimizer's moments are stored in: fp32 or bf16.
  std::string optimizerPrecision = "fp32";
  /// Dynamic loss scaling; always with fp16.
  bool lossScaling = false;
  /// Gradients are means over ranks: see --ingot-reduce-gradients.
  bool dataParallel = false;
  double bucketMb = 0;
  std::string gradComm;
  /// Stage of ZeRO, 0 to 2: see --ingot-shard-updates.
  unsigned zero = 0;
  /// Batch normalization takes statistics of all ranks.
  bool syncBatchNorm = false;
};

/// From `@forward` to the training graph as kernels and library calls. The
/// module's attributes name the same target (Target::set).
void buildGraphPipeline(mlir::OpPassManager &manager,
                        const PipelineOptions &options, const Target &target);

struct PlacementOptions {
  /// -O0 to -O3.
  unsigned level = 2;
  /// What to compute again: see --ingot-rematerialize.
  int64_t budgetBytes = -1;
  double budgetPercent = -1;
  std::string save, recompute;
};

/// From there to places in memory: `exec` steps.
void buildPlacementPipeline(mlir::OpPassManager &manager,
                            const PlacementOptions &options);

/// Registers `--ingot-steps`.
void registerPipelines();

} // namespace ingot

#endif // INGOT_PASSES_PIPELINE_H
