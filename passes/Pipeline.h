//===----------------------------------------------------------------------===//
//
// The compiler as one list of passes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PIPELINE_H
#define INGOT_PASSES_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <optional>
#include <string>

namespace ingot {

struct CpuTarget;

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
  /// For a device: products call no kernels that finish their elements,
  /// convolutions have channels last on tensor cores alone, attention is in
  /// half precision, and code generation shares out reductions by itself.
  bool device = false;
  /// The device may round f32 to TF32.
  bool tf32 = false;
};

/// From `@forward` to the training graph as kernels and library calls.
void buildGraphPipeline(mlir::OpPassManager &manager,
                        const PipelineOptions &options);

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

/// From placed steps to kernels in the LLVM dialect, for the CPU. What remains
/// is `--ingot-lower-steps`, which needs the manifest.
void buildCpuKernelPipeline(mlir::OpPassManager &manager, unsigned level,
                            const CpuTarget &target);

/// From placed steps to device functions in a `gpu.module`. `threads` is how
/// many fill the device (see --ingot-emit-cuda-kernels).
void buildCudaKernelPipeline(mlir::OpPassManager &manager,
                             std::optional<int64_t> threads = std::nullopt);

/// From placed steps to the same functions in the LLVM dialect, for the
/// emulator (runtime/emulator).
void buildEmulationPipeline(mlir::OpPassManager &manager);

/// Registers `--ingot-steps`, `--ingot-cpu-kernels` and `--ingot-cuda-kernels`.
void registerPipelines();

} // namespace ingot

#endif // INGOT_PASSES_PIPELINE_H
