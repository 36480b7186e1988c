// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of the compiler that reach passes, declared once: ingotc's
// command line, the pipelines of ingot-opt and ingot-eval have them from here.
// Each has the same name everywhere, in the errors of passes too.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PIPELINEOPTIONS_H
#define INGOT_PASSES_PIPELINEOPTIONS_H

#include "passes/options/AdapterRule.h"
#include "passes/options/BaseRule.h"
#include "passes/options/DistillRule.h"
#include "passes/options/PruneRule.h"
#include "passes/options/TargetOptions.h"

namespace ingot {

inline constexpr llvm::StringLiteral kSplitRows[] = {"auto", "always", "never"};

/// The names of all optimizers.
llvm::ArrayRef<llvm::StringLiteral> getOptimizerNames();

/// The names of all losses, with their settings.
std::string getLossNames();

struct PipelineOptions : OptionTable,
                         mlir::PassPipelineOptions<PipelineOptions> {
  Section training{*this, "What is trained"};

  Setting<std::string> loss{
      *this, "loss LOSS",
      getLossNames() +
          ", with settings such as cross-entropy:smoothing=0.1, or a sum of "
          "them; needed unless the only output is a float scalar"};
  Setting<std::string> metrics{
      *this, "metrics NAMES",
      "metrics of evaluations, separated by commas: accuracy, topK, f1, auc, "
      "confusion, perplexity, mae, r2, as far as the loss has them; of every "
      "training step with train- before the name, as in train-accuracy"};
  Setting<std::string> optimizer{*this, "optimizer NAME",
                                 joinChoices(getOptimizerNames()) +
                                     " (that of --optimizer-model, or adamw)",
                                 "", oneOf(getOptimizerNames())};
  Setting<NamePattern> noDecay{
      *this, "no-decay REGEX",
      "parameters without weight decay: a regular expression, or "
      "norms-and-biases, which trainers can leave out themselves"};
  ListSetting<ParameterGroup> group{
      *this, "group NAME=REGEX",
      "parameters of which the trainer can set the learning rate and weight "
      "decay apart, and freeze for a time, with --group NAME:..."};
  ListSetting<AdapterRule> adapter{
      *this, "adapter KIND:SETTINGS@LAYERS",
      "train low-rank adapters of linear layers in place of the model, as in "
      "lora:r=16,alpha=32,dropout=0.05@q_proj,v_proj: lora, rslora or dora; r, "
      "alpha, dropout and bias (none, all, adapters); all-linear, ends of "
      "paths of layers, or /REGEX/ of whole paths; of several, the first that "
      "matches a layer"};
  Setting<NamePattern> adapterTrain{
      *this, "adapter-train REGEX",
      "parameters that are trained beside adapters (regular expression)"};
  Setting<BaseRule> base{
      *this, "base KIND:SETTINGS@REGEX",
      "store weights of linear layers that are not trained in 4 or 8 bits: "
      "nf4, fp4, int8 or int4, with block=N numbers of one scale (64), and "
      "double for scales in 8 bits, as in nf4:block=64,double; with an "
      "expression those whose names it finds"};
  ListSetting<PruneRule> prune{
      *this, "prune WHAT@REGEX",
      "keep the smallest weights of linear layers and convolutions at zero: a "
      "share of each weight as in 0.5, all but N of M inputs as in 2:4, or "
      "blocks of outputs and inputs as in block:4x4,share=0.5; with "
      "schedule=STEP after that step, with schedule=BEGIN:END:EVERY more and "
      "more (before the first step); with an expression weights or layers "
      "whose names it finds; of several, the first that takes a weight"};
  Setting<DistillRule> distill{
      *this, "distill SETTINGS",
      "how the model learns from that of --teacher: temperature=T (4) and "
      "alpha=A (0.5) of A T^2 KL(teacher || student) + (1 - A) times --loss; "
      "pairs=STUDENT:TEACHER, values whose mean squared errors are added, "
      "times pair-weight=W (1); precision=bf16, fp16, or an encoding of "
      "--base, of the teacher (that of --precision)"};
  Setting<bool> clip{*this, "clip",
                     "compile in gradient clipping by global norm"};
  Setting<bool> guard{
      *this, "guard",
      "compile in a check that leaves the model as it is in a step whose "
      "gradients are not finite, for the trainer's --nan skip"};
  Setting<int64_t> gradAccumulation{
      *this, "grad-accumulation N",
      "micro-batches per step: the update uses the mean over all of them", 1,
      between<int64_t>(1, 1 << 20)};

  Section inPrecision{*this, "Precision"};

  Setting<std::string> precision{
      *this, "precision NAME",
      "precision of contractions: fp32, bf16, fp16 with loss scaling, or fp8, "
      "in which matmuls read 8 bits: in memory on GPUs, as roundings on CPUs",
      "fp32", oneOf(kTrainerPrecisions)};
  Setting<std::string> fp8Scaling{
      *this, "fp8-scaling NAME",
      "scales of fp8: current (of each tensor, in each step), delayed (of the "
      "last 16 steps), block (of 128 elements) or mx (of 32 elements)",
      "current", oneOf(kFloat8Scalings)};
  Setting<NamePattern> keepFp32{
      *this, "keep-fp32 REGEX",
      "ONNX nodes that stay in fp32 (regular expression)"};
  Setting<NamePattern> forceLow{
      *this, "force-low REGEX",
      "additional ONNX nodes that run in 16 bits (regular expression)"};
  Setting<bool> exactMath{
      *this, "exact-math",
      "compute matmuls and convolutions as sums of products, without "
      "Strassen's and Winograd's algorithms, and exp, tanh and erf on a GPU "
      "with the bits of CPUs instead of its faster approximation of 2^x"};
  Setting<std::string> optimizerPrecision{
      *this, "optimizer-precision NAME",
      "precision of the optimizer's moments in memory: fp32, bf16 with "
      "stochastic rounding, or dyn8, codes of 8 bits in blocks",
      "fp32", oneOf(kOptimizerPrecisions)};
  Setting<bool> lossScaling{
      *this, "loss-scaling",
      "scale the loss dynamically in other precisions than fp16 too"};

  Section forRanks{*this, "Ranks"};

  Setting<bool> dataParallel{
      *this, "data-parallel",
      "average gradients over the ranks that mpirun starts"};
  Setting<double> bucketMb{
      *this, "bucket-mb X",
      "bucket size: MiB of gradients per all-reduce (from the latency and "
      "bandwidth of the machine's link)",
      0, between(0.001, 4096.0)};
  Setting<std::string> gradComm{
      *this, "grad-comm FORMAT",
      "format in which gradients are sent: bf16, fp16, powersgd:RANK, int8, "
      "topk:FRACTION, and start:STEPS, separated by commas (fp32)"};
  Setting<unsigned> zero{
      *this, "zero N",
      "ZeRO stage: shard the optimizer's state (1), the reduced gradients (2) "
      "and the parameters (3) over the ranks",
      0, between(0U, 3U)};
  Setting<bool> syncBatchNorm{
      *this, "sync-batch-norm",
      "batch normalization computes its statistics over all ranks' samples"};

  ListSetting<AxisSize> mesh{
      *this, "mesh AXIS=N",
      "ranks along axes of the mesh of ranks: with tensor=N, N ranks have "
      "parts of each layer, and compute steps together; with inner=N, groups "
      "of N ranks, such as those of a machine, have the shards of --zero; the "
      "ranks that a run has besides are along data"};
  ListSetting<PartitionRule> partition{
      *this, "partition REGEX=DIM:AXIS",
      "tensors of which ranks along an axis have parts, of that dimension, or "
      "REGEX=whole (by the time of a step)"};
  Setting<std::string> splitRows{
      *this, "split-rows WHEN",
      "auto, always or never: between parts of layers, whether ranks along "
      "tensor have rows of activations instead of all of them (by the time of "
      "a step, and its --memory-budget)",
      "auto", oneOf(kSplitRows)};

  Section forMachine{*this, "The machine"};

  Setting<std::string> target{*this, "target NAME", "cpu or cuda", "cpu"};
  Setting<std::string> arch{
      *this, "arch NAME",
      "LLVM's name of a CPU, such as x86-64-v3 or neoverse-n1, aarch64, a "
      "version of it such as armv8.2-a+dotprod, or native, "
      "which is the default; A+B makes steps for both, of which trainers take "
      "the best; "
      "for cuda a GPU architecture, sm_90 by default"};
  Setting<std::string> machine{
      *this, "machine FILE",
      "JSON file of the machine to plan for, from ingot-measure"};

  Section forKernels{*this, "Kernels and memory"};

  Setting<unsigned> level{
      *this, "level N",
      "0: one kernel per op, no library calls, no reuse of memory; 1: fused, "
      "with little optimization of kernels; 2 and 3: fused",
      2, between(0U, 3U)};
  Setting<MemorySize> memoryBudget{
      *this, "memory-budget [at-least:]SIZE|N%",
      "SIZE of all planned memory, or N% of the activations: recompute until "
      "the step fits, with at-least: as far as it can"};
  ListSetting<RematRule> remat{
      *this, "remat RULE",
      "save=REGEX or recompute=REGEX: whether to save or recompute the results "
      "of ONNX nodes with such names"};

  Setting<int64_t> lossChunks{
      *this, "loss-chunks N",
      "the most chunks of rows in which the loss of many classes is computed; "
      "1 for none, which takes the memory of all logits",
      16, between<int64_t>(1, 1024)};

  /// The options that belong to one kind of target.
  std::vector<std::unique_ptr<TargetOptions>> ofTargets = bindTargets(*this);

  /// The module holds a module for each combination of sizes of dimensions, as
  /// the importer makes them.
  Setting<bool> variants{
      *this, "variants",
      "the module holds a module for each combination of sizes"};

  /// Whether steps exchange data with those of other ranks.
  bool hasRanks() const { return dataParallel || !mesh.empty(); }
  /// Whether the mesh has several ranks along an axis.
  bool hasAxis(llvm::StringRef axis) const {
    return llvm::any_of(mesh, [&](const AxisSize &size) {
      return size.axis == axis && size.ranks > 1;
    });
  }
  /// Returns the target that the options choose, with its own options, for an
  /// architecture.
  TargetSpec getTargetSpec(llvm::StringRef architecture) const;
  /// How weights of the teacher are encoded; empty if they are not.
  BaseRule getTeacherBase() const;
  /// The precision in which contractions compute: that of fp8 is bf16.
  std::string getComputePrecision() const;
  /// Checks values that were given, alone and together.
  llvm::Error check() const;
  /// Returns the given options as the pipelines of ingot-opt parse them. Fails
  /// for a value that cannot be written so.
  llvm::Expected<std::string> print() const;

private:
  static std::vector<std::unique_ptr<TargetOptions>>
  bindTargets(OptionTable &table);
};

} // namespace ingot

#endif // INGOT_PASSES_PIPELINEOPTIONS_H
