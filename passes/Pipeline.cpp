// SPDX-License-Identifier: Apache-2.0

#include "passes/Pipeline.h"

#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/autodiff/Passes.h"
#include "passes/fusion/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/parallel/Passes.h"
#include "passes/precision/Passes.h"
#include "passes/schedule/Passes.h"

using namespace mlir;
using namespace ingot;

void ingot::buildGraphPipeline(OpPassManager &manager,
                               const PipelineOptions &options,
                               const Target &target) {
  LegalizationOptions legalization{options.keepFp32};
  auto legalize = [&](LegalizationPoint point) {
    if (options.level > 0)
      target.addLegalization(manager.nest<func::FuncOp>(), point, legalization);
  };
  //===--------------------------------------------------------------------===//
  // The training graph
  //===--------------------------------------------------------------------===//

  // Constants fold before differentiation, so that no gradient is built for
  // what the importer left of shape computations.
  manager.addNestedPass<func::FuncOp>(createSimplify());
  // Before differentiation: either form has its own gradient.
  FormAttentionOptions attention;
  bool isMixed = options.precision != "fp32";
  attention.plain = options.level == 0;
  attention.precision = options.precision;
  manager.addNestedPass<func::FuncOp>(createFormAttention(attention));
  legalize(LegalizationPoint::Forward);
  // Each gradient of one matmul is one matmul.
  if (options.level > 0)
    manager.addNestedPass<func::FuncOp>(
        createMergeProjections({options.precision}));
  bool accumulates = options.gradAccumulation > 1;
  manager.addPass(
      createAttachLoss({options.loss, accumulates || options.dataParallel}));
  if (options.level > 0)
    manager.addPass(createPadClasses({options.precision}));
  bool scales = options.lossScaling || options.precision == "fp16";
  if (scales)
    manager.addPass(createScaleLoss());
  // The gradient has exchanges of its own.
  if (options.dataParallel && options.syncBatchNorm)
    manager.addPass(createSynchronizeBatchNorm());
  manager.addPass(createDifferentiate());
  if (isMixed) {
    // Transposes and repeated matrices become attributes of contractions
    // before casts are between them.
    manager.addNestedPass<func::FuncOp>(createSimplify());
    manager.addNestedPass<func::FuncOp>(createAssignPrecision(
        {options.precision, options.keepFp32, options.forceLow}));
    legalize(LegalizationPoint::Precision);
  }
  if (accumulates)
    manager.addPass(createAccumulateGradients({options.gradAccumulation}));
  // Once per step, and before gradients are looked at: all ranks clip, and
  // skip, alike.
  if (options.dataParallel)
    manager.addPass(createReduceGradients(
        {options.bucketMb, options.gradComm, options.zero}));
  if (accumulates || options.dataParallel)
    manager.addPass(createAverageGradients());
  if (scales)
    manager.addPass(createUnscaleGradients());
  ApplyOptimizerOptions update;
  update.optimizer = options.optimizer;
  update.noDecay = options.noDecay;
  // The norm tells whether gradients are finite.
  update.clip = options.clip || scales;
  update.clipNorm = options.clip ? 1.0 : 0.0;
  update.momentPrecision = options.optimizerPrecision;
  manager.addPass(createApplyOptimizer(update));
  if (scales)
    manager.addPass(createGuardUpdates());
  if (options.dataParallel)
    manager.addPass(createCompressGradients({options.gradComm}));
  // Before copies of whole parameters are made.
  if (options.dataParallel && options.zero > 0)
    manager.addPass(createShardUpdates({/*gradients=*/options.zero > 1}));
  if (isMixed) {
    // Brings casts to the weights.
    manager.addNestedPass<func::FuncOp>(createSimplify());
    manager.addPass(createKeepLowCopies());
  }
  if (accumulates)
    manager.addPass(createSplitMicroSteps());
  manager.addNestedPass<func::FuncOp>(createSimplify());

  // While a cross entropy is one op, after simplification, which leaves no
  // trace of how the loss and its gradient were written.
  if (options.level > 0)
    manager.addNestedPass<func::FuncOp>(createChunkLoss());

  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  // Composites have given their gradients; from here on only primitives and
  // library anchors.
  DecomposeOptions decomposition;
  decomposition.keepAnchors = options.level > 0;
  manager.addNestedPass<func::FuncOp>(createDecompose(decomposition));
  manager.addNestedPass<func::FuncOp>(createSimplify());
  if (options.level > 0) {
    // Before fusion, which decides by what is stored in which shape.
    manager.addNestedPass<func::FuncOp>(createChooseLayouts());
    manager.addNestedPass<func::FuncOp>(createSimplify());
  }
  // After simplification, which makes one reduction of two.
  if (options.level > 0)
    manager.addNestedPass<func::FuncOp>(createSplitReductions());
  legalize(LegalizationPoint::Kernels);
  FormFusionsOptions fusion;
  fusion.each = options.level == 0;
  manager.addNestedPass<func::FuncOp>(createFormFusions(fusion));
}

void ingot::buildPlacementPipeline(OpPassManager &manager,
                                   const PlacementOptions &options) {
  manager.addPass(createOutlineConstants());
  // When nothing moves ops between functions any more, before memory is looked
  // at.
  manager.addPass(createDeferGathers());
  // No simplification after this: the order of operations is the schedule, and
  // copies would be merged with their originals.
  RematerializeOptions remat;
  remat.budgetBytes = options.budgetBytes;
  remat.budgetPercent = options.budgetPercent;
  remat.save = options.save;
  remat.recompute = options.recompute;
  manager.addPass(createRematerialize(remat));
  if (options.level > 0) {
    manager.addNestedPass<func::FuncOp>(createOrderSteps());
    // Whether a kernel can wait for another depends on the order.
    manager.addNestedPass<func::FuncOp>(createGroupKernels());
  }
  PlaceStepsOptions placement;
  placement.noReuse = options.level == 0;
  manager.addPass(createPlaceSteps(placement));
}

namespace {
struct StepOptions : PassPipelineOptions<StepOptions> {
  Option<unsigned> level{*this, "level", llvm::cl::desc("0 to 3, as -O"),
                         llvm::cl::init(2)};
  Option<std::string> loss{*this, "loss",
                           llvm::cl::desc("see --ingot-attach-loss"),
                           llvm::cl::init("")};
  Option<std::string> optimizer{*this, "optimizer",
                                llvm::cl::desc("see --ingot-apply-optimizer"),
                                llvm::cl::init("adamw")};
};
} // namespace

void ingot::registerPipelines() {
  PassPipelineRegistration<StepOptions>(
      "ingot-steps", "from @forward to placed steps",
      [](OpPassManager &manager, const StepOptions &options) {
        PipelineOptions pipeline;
        pipeline.level = options.level;
        pipeline.loss = options.loss;
        pipeline.optimizer = options.optimizer;
        buildGraphPipeline(manager, pipeline,
                           *llvm::cantFail(Target::get(TargetSpec())));
        PlacementOptions placement;
        placement.level = pipeline.level;
        buildPlacementPipeline(manager, placement);
      });
}
