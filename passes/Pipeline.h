// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The compiler as one list of passes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PIPELINE_H
#define INGOT_PASSES_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "passes/PipelineOptions.h"

namespace ingot {

class Target;

/// Sets the module's attributes: the first pass of every pipeline.
void buildTargetPipeline(mlir::OpPassManager &manager,
                         const PipelineOptions &options);

/// From `@forward` to the training graph: gradients, precision, collectives,
/// and the optimizer. The target is that of the options, here and below.
void buildTrainingPipeline(mlir::OpPassManager &manager,
                           const PipelineOptions &options,
                           const Target &target);

/// From an imported module to a training graph of primitives, which other
/// formats have. Attention is plain and nothing is merged where the options'
/// level is 0.
void buildStandardPipeline(mlir::OpPassManager &manager,
                           const PipelineOptions &options,
                           const Target &target);

/// From ops on tensors, of a training graph or of any function, to kernels and
/// library calls.
void buildFusionPipeline(mlir::OpPassManager &manager,
                         const PipelineOptions &options, const Target &target);

/// From an imported module to one of kernels and library calls: all of the
/// above, for each variant of the model.
void buildGraphPipeline(mlir::OpPassManager &manager,
                        const PipelineOptions &options, const Target &target);

/// From there to offsets in memory: `exec` steps.
void buildPlacementPipeline(mlir::OpPassManager &manager,
                            const PipelineOptions &options);

/// From placed steps to kernels in the target's code, in the LLVM dialect where
/// they are the host's. The target may then take those of a device out.
void buildKernelPipeline(mlir::OpPassManager &manager,
                         const PipelineOptions &options, const Target &target);

/// From there to the LLVM dialect alone.
void buildLoweringPipeline(mlir::OpPassManager &manager);

/// Registers the pipelines of ingot-opt: `--ingot-graph`, `--ingot-placement`,
/// both as `--ingot-steps`, `--ingot-standard` and `--ingot-autodiff`.
void registerPipelines();

} // namespace ingot

#endif // INGOT_PASSES_PIPELINE_H
