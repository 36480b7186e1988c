// SPDX-License-Identifier: Apache-2.0

#include "passes/Pipeline.h"

#include "dialects/ingot/ir/Teacher.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/adapt/Passes.h"
#include "passes/autodiff/Passes.h"
#include "passes/fusion/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/parallel/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/precision/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/targets/Passes.h"
#include "passes/targets/host/Passes.h"
#include "passes/verify/Passes.h"

using namespace mlir;
using namespace ingot;

/// Adds the passes that the target needs at a point of the pipeline.
static void addLegalization(OpPassManager &manager,
                            const PipelineOptions &options,
                            const Target &target, LegalizationPoint point) {
  target.addLegalization(manager.nest<func::FuncOp>(), point,
                         {options.keepFp32, /*optimizes=*/options.level > 0});
}

void ingot::buildTargetPipeline(OpPassManager &manager,
                                const PipelineOptions &options) {
  TargetSpec spec = options.getTargetSpec(options.arch);
  manager.addPass(createAttachTarget(
      {spec.kind, spec.arch, spec.math == MathMode::TF32,
       listTargetOptions(spec), options.machine, options.precision,
       options.hasRanks(), options.exactMath}));
}

//===----------------------------------------------------------------------===//
// The training graph
//===----------------------------------------------------------------------===//

void ingot::buildTrainingPipeline(OpPassManager &manager,
                                  const PipelineOptions &options,
                                  const Target &target) {
  if (!options.mesh.empty()) {
    AttachMeshOptions mesh;
    llvm::append_range(mesh.mesh, options.mesh);
    llvm::append_range(mesh.partition, options.partition);
    manager.addPass(createAttachMesh(mesh));
  }
  const bool isTaught = !options.distill.empty();
  if (isTaught)
    manager.addPass(createAddTeacher({options.distill}));
  // While ops are where the model has them.
  manager.addPass(createCheckSamples());
  manager.addPass(createCheckTokens({options.loss}));
  // Constants fold before differentiation, so that no gradient is built for
  // what the importer left of shape computations.
  manager.addNestedPass<func::FuncOp>(createSimplify());
  // While layers are those of the model.
  if (!options.adapter.empty()) {
    AddAdaptersOptions adapters;
    llvm::append_range(adapters.adapter, options.adapter);
    adapters.adapterTrain = options.adapterTrain;
    manager.addPass(createAddAdapters(adapters));
  }
  // What is trained is known now. Models may come with codes.
  bool encodes = options.target == "cpu" && options.mesh.empty();
  manager.addPass(
      createEncodeBase({options.base, kForwardName.str(), encodes}));
  if (isTaught)
    manager.addPass(createEncodeBase(
        {options.getTeacherBase(), kTeacherName.str(), encodes}));
  if (!options.prune.empty()) {
    PruneWeightsOptions pruning;
    llvm::append_range(pruning.prune, options.prune);
    manager.addPass(createPruneWeights(pruning));
  }
  // Before differentiation: either form has its own gradient.
  FormAttentionOptions attention;
  std::string precision = options.getComputePrecision();
  bool isMixed = precision != "fp32";
  attention.plain = options.level == 0;
  attention.precision = precision;
  manager.addNestedPass<func::FuncOp>(createFormAttention(attention));
  addLegalization(manager, options, target, LegalizationPoint::Forward);
  // Each gradient of one matmul is one matmul.
  // Weights that are gathered are not copied to one matrix.
  const bool gathers = options.hasRanks() && options.zero > 2;
  if (options.level > 0 && !gathers)
    manager.addNestedPass<func::FuncOp>(createMergeProjections({precision}));
  // The step casts what it computes itself.
  bool lowersTeacher = !isMixed && options.distill.isLow();
  if (lowersTeacher) {
    AssignPrecisionOptions low;
    low.precision = options.distill.precision;
    low.keepFp32 = options.keepFp32;
    low.function = kTeacherName.str();
    manager.addNestedPass<func::FuncOp>(createAssignPrecision(low));
    addLegalization(manager, options, target, LegalizationPoint::Precision);
  }
  bool accumulates = options.gradAccumulation > 1;
  manager.addPass(
      createAttachLoss({options.loss, options.metrics, options.distill,
                        accumulates || options.hasRanks()}));
  if (options.level > 0)
    manager.addPass(createPadClasses({precision}));
  bool scales = options.lossScaling || precision == "fp16";
  if (scales)
    manager.addPass(createScaleLoss());
  // The gradient has exchanges of its own.
  if (options.hasRanks() && options.syncBatchNorm)
    manager.addPass(createSynchronizeBatchNorm());
  manager.addPass(createDifferentiate());
  if (isMixed) {
    // Transposes and repeated matrices become attributes of contractions
    // before casts are between them.
    manager.addNestedPass<func::FuncOp>(createSimplify());
    manager.addNestedPass<func::FuncOp>(createAssignPrecision(
        {precision, options.keepFp32, options.forceLow, options.level > 0}));
    if (options.precision == "fp8") {
      QuantizeFloat8Options quantization;
      quantization.scaling = options.fp8Scaling;
      quantization.keepFp32 = options.keepFp32;
      // Each read of a matrix has its own cast: one scale is for all of them.
      manager.addNestedPass<func::FuncOp>(createSimplify());
      manager.addPass(createQuantizeFloat8(quantization));
    }
    addLegalization(manager, options, target, LegalizationPoint::Precision);
  }
  if (accumulates)
    manager.addPass(createAccumulateGradients({options.gradAccumulation}));
  // Once per step, and before gradients are looked at: all ranks clip, and
  // skip, alike.
  if (options.hasRanks())
    manager.addPass(
        createReduceGradients({options.gradComm, /*eachMicroBatch=*/gathers}));
  if (accumulates || options.hasRanks())
    manager.addPass(createAverageGradients());
  if (scales)
    manager.addPass(createUnscaleGradients());
  ApplyOptimizerOptions update;
  update.optimizer = options.optimizer;
  update.noDecay = options.noDecay;
  llvm::append_range(update.group, options.group);
  // The norm tells whether gradients are finite.
  update.clip = options.clip || scales || options.guard;
  update.clipNorm = options.clip ? 1.0 : 0.0;
  update.optimizerPrecision = options.optimizerPrecision;
  update.shards = options.hasRanks() && options.zero > 0;
  manager.addPass(createApplyOptimizer(update));
  if (scales || options.guard)
    manager.addPass(createGuardUpdates({/*always=*/options.guard}));
  auto keepLowCopies = [&] {
    // Brings casts to the weights.
    manager.addNestedPass<func::FuncOp>(createSimplify());
    manager.addPass(createKeepLowCopies({/*shards=*/gathers}));
  };
  // The step is complete, and what ranks sum over data is known tensor by
  // tensor: from here on it is that of one rank.
  if (options.hasAxis("tensor")) {
    manager.addNestedPass<func::FuncOp>(createSimplify());
    ChoosePartitionsOptions choice;
    choice.splitRows = options.splitRows;
    choice.memoryBudget = options.memoryBudget;
    manager.addPass(createChoosePartitions(choice));
    ApplyPartitionsOptions parts;
    parts.keepGlobal = true;
    manager.addPass(createApplyPartitions(parts));
    // Before anything rewrites what the rank computes.
    manager.addPass(createVerifyPartition());
    manager.addPass(createPartStates());
    if (options.level > 0)
      manager.addPass(createSplitExchanges());
    manager.addPass(createLowerExchanges());
    manager.addNestedPass<func::FuncOp>(createSimplify());
  }
  // Before shards are formed of them.
  if ((isMixed || lowersTeacher) && gathers)
    keepLowCopies();
  // When it is known what is computed from which sum.
  if (options.hasRanks()) {
    manager.addPass(createFormBuckets({options.bucketMb, options.zero}));
    manager.addPass(createCompressGradients({options.gradComm}));
  }
  // Before copies of whole parameters are made.
  if (options.hasRanks() && options.zero > 0)
    manager.addPass(
        createShardUpdates({/*gradients=*/options.zero > 1, gathers}));
  if ((isMixed || lowersTeacher) && !gathers)
    keepLowCopies();
  if (accumulates)
    manager.addPass(createSplitMicroSteps());
  // From here on passes change how the step computes, not what it computes.
  manager.addPass(createVerifyTrainingGraph());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void ingot::buildFusionPipeline(OpPassManager &manager,
                                const PipelineOptions &options,
                                const Target &target) {
  manager.addNestedPass<func::FuncOp>(createSimplify());
  // Later passes treat the body of a loop as any other function.
  manager.addPass(createOutlineLoops());
  // While a cross entropy is one op, after simplification, which leaves no
  // trace of how the loss and its gradient were written.
  if (options.level > 0 && options.lossChunks > 1) {
    ChunkLossOptions chunks;
    chunks.maxParts = options.lossChunks;
    chunks.memoryBudget = options.memoryBudget;
    manager.addNestedPass<func::FuncOp>(createChunkLoss(chunks));
  }
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
  // After simplification, which makes one reduction of two. Without vectors of
  // partial sums, a kernel adds one term after the other.
  SplitReductionsOptions reductions;
  constexpr int64_t maxTerms = 1024;
  reductions.maxTerms = options.level == 0 ? maxTerms : 0;
  manager.addNestedPass<func::FuncOp>(createSplitReductions(reductions));
  addLegalization(manager, options, target, LegalizationPoint::Kernels);
  // After convolutions have taken the sums that they compute.
  if (options.level > 0)
    manager.addNestedPass<func::FuncOp>(createFormDeviations());
  FormFusionsOptions fusion;
  fusion.each = options.level == 0;
  manager.addNestedPass<func::FuncOp>(createFormFusions(fusion));
  // The schedule takes kernels and calls as they are.
  manager.addPass(createVerifyKernels());
}

void ingot::buildGraphPipeline(OpPassManager &manager,
                               const PipelineOptions &options,
                               const Target &target) {
  OpPassManager &variants =
      options.variants ? manager.nest<ModuleOp>() : manager;
  buildTargetPipeline(variants, options);
  buildTrainingPipeline(variants, options, target);
  buildFusionPipeline(variants, options, target);
  // Before memory is looked at: variants share their states.
  if (options.variants)
    manager.addPass(createMergeVariants());
}

void ingot::buildStandardPipeline(OpPassManager &manager,
                                  const PipelineOptions &options,
                                  const Target &target) {
  buildTargetPipeline(manager, options);
  buildTrainingPipeline(manager, options, target);
  manager.addNestedPass<func::FuncOp>(createSimplify());
  // Library calls are decomposed as well: only primitive ops are left.
  manager.addNestedPass<func::FuncOp>(createDecompose());
  manager.addNestedPass<func::FuncOp>(createSimplify());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void ingot::buildPlacementPipeline(OpPassManager &manager,
                                   const PipelineOptions &options) {
  manager.addPass(createOutlineConstants());
  // When nothing moves ops between functions any more, before memory is looked
  // at.
  manager.addPass(createMapStates());
  manager.addPass(createDeferGathers());
  // No simplification after this: the order of operations is the schedule, and
  // copies would be merged with their originals.
  const bool gathers = options.hasRanks() && options.zero > 2;
  // What is gathered again takes no memory in between.
  if (options.level > 0 && gathers)
    manager.addNestedPass<func::FuncOp>(createPlaceGathers());
  RematerializeOptions remat;
  remat.memoryBudget = options.memoryBudget;
  llvm::append_range(remat.remat, options.remat);
  manager.addPass(createRematerialize(remat));
  if (options.level > 0) {
    manager.addNestedPass<func::FuncOp>(createOrderSteps());
    // Whether a kernel can wait for another depends on the order.
    manager.addNestedPass<func::FuncOp>(createGroupKernels());
    // When readers do not move any more.
    if (gathers) {
      PlaceGathersOptions placing;
      placing.memoryBudget = options.memoryBudget;
      manager.addNestedPass<func::FuncOp>(createPlaceGathers(placing));
    }
    // Last: what runs concurrently with what depends on the order. Memory that
    // is asked for is not spent on it.
    OverlapExchangesOptions overlap;
    if (!options.memoryBudget.empty())
      overlap.maxGrowth = overlap.freeBytes = 0;
    manager.addNestedPass<func::FuncOp>(createOverlapExchanges(overlap));
    AssignStreamsOptions streams;
    if (!options.memoryBudget.empty())
      streams.maxGrowth = streams.freeBytes = 0;
    manager.addNestedPass<func::FuncOp>(createAssignStreams(streams));
  }
  PlaceStepsOptions placement;
  placement.noReuse = options.level == 0;
  manager.addPass(createPlaceSteps(placement));
  // Overlaps would show as wrong numbers, on one size of one model.
  manager.addPass(createVerifyPlaced());
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void ingot::buildKernelPipeline(OpPassManager &manager,
                                const PipelineOptions &options,
                                const Target &target) {
  target.addKernelPipeline(manager, options.level);
}

void ingot::buildLoweringPipeline(OpPassManager &manager) {
  manager.addPass(createLowerSteps());
  // Translation to LLVM IR names no op that it does not know.
  manager.addPass(createVerifyLowered());
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

/// Registers a pipeline whose options are checked as ingotc checks them.
static void registerPipeline(StringRef name, StringRef summary,
                             void (*build)(OpPassManager &manager,
                                           const PipelineOptions &options,
                                           const Target &target)) {
  using EmitError = llvm::function_ref<LogicalResult(const Twine &)>;
  registerPassPipeline(
      name, summary,
      [build](OpPassManager &manager, StringRef text, EmitError emitError) {
        PipelineOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        if (llvm::Error error = options.check())
          return emitError(llvm::toString(std::move(error)));
        auto target = chooseTarget(options.getTargetSpec(options.arch));
        if (!target)
          return emitError(llvm::toString(target.takeError()));
        build(manager, options, **target);
        return success();
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> describe) {
        describe(PipelineOptions());
      });
}

void ingot::registerPipelines() {
  registerPipeline("ingot-graph",
                   "from an imported model to kernels and library calls",
                   buildGraphPipeline);
  registerPipeline(
      "ingot-placement", "from kernels and library calls to placed steps",
      [](OpPassManager &manager, const PipelineOptions &options,
         const Target &) { buildPlacementPipeline(manager, options); });
  registerPipeline("ingot-steps", "from an imported model to placed steps",
                   [](OpPassManager &manager, const PipelineOptions &options,
                      const Target &target) {
                     buildGraphPipeline(manager, options, target);
                     buildPlacementPipeline(manager, options);
                   });
  registerPipeline("ingot-standard",
                   "from an imported model to a training graph of primitives",
                   buildStandardPipeline);
  registerPipeline("ingot-autodiff",
                   "attach a loss, differentiate and apply an optimizer, and "
                   "nothing else: @forward becomes @train_step, @eval_step and "
                   "@predict",
                   [](OpPassManager &manager, const PipelineOptions &options,
                      const Target &) {
                     manager.addPass(createAttachLoss(
                         {options.loss, options.metrics, {}, false}));
                     manager.addPass(createDifferentiate());
                     ApplyOptimizerOptions update;
                     update.optimizer = options.optimizer;
                     update.noDecay = options.noDecay;
                     llvm::append_range(update.group, options.group);
                     update.clip = options.clip;
                     manager.addPass(createApplyOptimizer(update));
                   });
}
