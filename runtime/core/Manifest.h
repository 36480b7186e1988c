// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The manifest of a compiled module (docs/manifest.md), read and checked.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MANIFEST_H
#define INGOT_RUNTIME_CORE_MANIFEST_H

#include "runtime/abi/Shard.h"
#include "runtime/core/DType.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A dense tensor at a fixed place in the state or the arena.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  int64_t offset = 0;

  int64_t getElements() const;
  int64_t getBytes() const { return getElements() * getSize(dtype); }
  int64_t getAlignedBytes() const;
};

enum class StateRole {
  Parameter,
  Frozen,
  Running,
  Moment,
  Step,
  Seed,
  LossScale,
  ComputeCopy,
  Accumulator,
  Residual,
  Basis,
  LowerHalf
};
enum class InitKind { Weights, Fill, Normal, Copy };

/// The position of a tensor in a bucket that is sharded over ranks (Shard.h).
struct BucketPosition {
  int64_t first = 0, of = 0;
};

/// A state. The offset of a sharded one is that of its address in the table
/// that ingot_shards returns.
struct StateSpec : TensorSpec {
  StateRole role = StateRole::Parameter;
  InitKind init = InitKind::Weights;
  /// The value of a fill, or the mean and the deviation of normal draws.
  double value = 0, mean = 0, deviation = 0;
  /// The state that this one is a copy of.
  std::string of;
  std::optional<BucketPosition> shard;
  /// The states that hold the bf16 compute copy and the low 16 bits of an f32
  /// master that is stored split (splitHalves).
  std::vector<std::string> halves;

  /// The elements that `rank` of `ranks` holds.
  ElementRange getHeld(int64_t rank, int64_t ranks) const;
  /// The aligned bytes of those elements.
  int64_t getShardBytes(int64_t rank, int64_t ranks) const;

  /// Whether each rank has its own value.
  bool isOwn() const { return role == StateRole::Residual; }
  /// Whether checkpoints hold the state.
  bool isSaved() const {
    return init != InitKind::Copy && role != StateRole::Accumulator;
  }
  /// Whether a run can resume from a checkpoint without the state.
  bool isOptional() const {
    return role == StateRole::LossScale || role == StateRole::Residual ||
           role == StateRole::Basis;
  }
  /// Whether the state is part of the model (not of its training).
  bool isModel() const {
    return role == StateRole::Parameter || role == StateRole::Frozen ||
           role == StateRole::Running;
  }
};

enum class InputKind { Data, Labels, Hyper, Valid };

/// The label that losses ignore unless they say more (PyTorch's ignore_index).
inline constexpr int64_t kIgnoredLabel = -100;

struct InputSpec : TensorSpec {
  InputKind kind = InputKind::Data;
  /// The number of classes that integer labels index.
  std::optional<int64_t> classes;
  /// The label beside them that does not count.
  std::optional<int64_t> ignored;
  /// Elements of a sample that follow each other, and the rows of the table
  /// that they index: 0 for elements that index none.
  struct IndexedRows {
    int64_t elements = 0, rows = 0;
  };
  /// The rows that the elements of a sample index, all of them or, of data that
  /// is no index, none.
  std::vector<IndexedRows> indexed;
  /// Whether the elements are probabilities: labels of bce-with-logits and
  /// kl-div.
  bool isProbability = false;
  /// The axis of the classes in the output that such labels belong to, and the
  /// name of the loss.
  std::optional<int64_t> classAxis;
  std::string loss;
  /// Whether these are labels of tokens that the model shifts itself: those of
  /// the input, not the ones that follow.
  bool isShifted = false;

  bool isBatched() const {
    return kind == InputKind::Data || kind == InputKind::Labels;
  }
  /// Returns the number of values from 0 on that the elements may have:
  /// classes, or the rows of the largest table that they index. None if they
  /// are no indices.
  std::optional<int64_t> getLimit() const {
    std::optional<int64_t> most = classes;
    for (const IndexedRows &part : indexed)
      if (part.rows > most.value_or(0))
        most = part.rows;
    return most;
  }
  /// Returns the label where there is none.
  int64_t getIgnored() const { return ignored.value_or(kIgnoredLabel); }
};

/// A floating-point tensor that a kernel writes.
struct KernelOutput {
  DType dtype = DType::F32;
  int64_t offset = 0, elements = 0;
  /// Whether it is in the state block; otherwise it is in the arena.
  bool inState = false;
};

/// The gradient of a parameter, where its update reads it.
struct GradientSpec {
  std::string state;
  KernelOutput place;
};

/// A range of the block of states.
struct StateRange {
  int64_t offset = 0, bytes = 0;
};

struct KernelSpec {
  std::string name, kind;
  /// The part of a training step that the kernel belongs to: forward, backward,
  /// optimizer or communication; empty if unknown.
  std::string part;
  std::vector<std::string> onnxNodes;
  std::vector<KernelOutput> outputs;
  /// The gradients that are complete when the kernel has ended.
  std::vector<GradientSpec> gradients;
  /// The ranges that the kernel writes in the block of states; absent if that
  /// is not known.
  std::optional<std::vector<StateRange>> stateWrites = std::nullopt;
  /// The calls of one step: of a loop, its iterations.
  int64_t times = 1;
  /// Bytes and operations of one call.
  int64_t bytes = 0, flops = 0;
  /// The least time of a call on the machine it was compiled for; 0 if unknown.
  double boundMicroseconds = 0;
};

/// A tensor that is live at a function's memory peak.
struct LiveTensor {
  /// input, activation, gradient, workspace or output.
  std::string kind;
  std::vector<std::string> onnxNodes;
  int64_t bytes = 0;
};

/// A range of the arena that is live from kernel `first` to kernel `last`, both
/// included. Of outputs, `last` is greater than the index of any kernel.
struct ArenaInterval {
  int64_t offset = 0, bytes = 0, first = 0, last = 0;
};

struct FunctionSpec {
  /// train_step, uncompressed_step, accumulate_step, eval_step or predict.
  std::string name;
  /// Index into the manifest's variants.
  size_t variant = 0;
  int64_t arenaBytes = 0;
  std::vector<InputSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::map<std::string, int64_t> memory;
  /// The tensors that are live at the arena's peak, the largest first.
  std::vector<LiveTensor> live;
  std::vector<ArenaInterval> intervals;
  std::vector<KernelSpec> kernels;

  const TensorSpec *findOutput(std::string_view name) const;
  /// Bytes of the inputs one after the other, each aligned.
  int64_t getInputBytes() const;
};

struct HyperparameterSpec {
  std::string name;
  double value = 0;
};

/// A piece of the exported model: `literal` bytes, or a state when `state` is
/// not empty.
struct ExportPiece {
  int64_t literal = 0;
  std::string state;
  DType dtype = DType::F32;
};

/// Memory for the payloads of all ranks (ingot_gather_messages_start): the
/// offset of its address in the table that ingot_shards returns, and the most
/// bytes that a rank sends.
struct PayloadSpec {
  int64_t offset = 0, rankBytes = 0;

  /// Bytes of the payloads of all ranks.
  int64_t getBytes(int64_t ranks) const;
};

enum class WeightsKind { Embed, Sidecar, None };

/// Who measures alternatives for `--tune`: the host, which runs steps in
/// several ways, or the device, which tries algorithms in its first runs.
enum class TuningPlace { Host, Device };

struct Manifest {
  std::string model, producer, targetKind, targetArch, precision, loss,
      optimizer;
  std::vector<std::string> features;
  TuningPlace tuning = TuningPlace::Host;
  /// Samples of a micro-batch, of the variant with most of them, and
  /// micro-batches of a step.
  int64_t batch = 0, gradAccumulation = 1;
  /// How many steps, from the first on, run uncompressed_step.
  int64_t uncompressedSteps = 0;
  bool evalPartial = true, dataParallel = false;
  /// The metrics of evaluations and of training steps, beside the loss, and the
  /// inputs that the model shifts (InputSpec::isShifted).
  std::vector<std::string> metrics, trainMetrics, shiftedLabels;
  /// The options of the compiler, with their dashes, for what is said of
  /// unknown options.
  std::vector<std::string> compilerOptions;
  WeightsKind weights = WeightsKind::Embed;
  /// The checksum of the file of weights beside the trainer.
  std::optional<int64_t> weightsCrc;
  int64_t stateBytes = 0, arenaBytes = 0;
  /// Bytes of the staging blocks that inputs come through on a GPU (Abi.h).
  int64_t stagingBytes = 0;
  std::vector<StateSpec> states;
  std::vector<PayloadSpec> payloads;
  std::vector<HyperparameterSpec> hyperparameters;
  /// The names of the functions' variants, like `seq=128`; one empty name where
  /// there are none.
  std::vector<std::string> variants = {""};
  /// Samples of a micro-batch of each variant; empty where all have `batch`.
  std::vector<int64_t> batches;
  /// All functions, by variant in the order train_step, eval_step, predict.
  std::vector<FunctionSpec> functions;
  std::vector<ExportPiece> exportPieces;
  /// The names of classes that the model says it has; may be empty.
  std::vector<std::string> classNames;

  /// Returns the samples of a micro-batch of a variant.
  int64_t getBatch(size_t variant) const {
    return batches.empty() ? batch : batches[variant];
  }
  /// Throws failure unless the module was compiled for the kind of target.
  void checkTarget(std::string_view kind) const;
  /// Throws failure unless the staging blocks hold the inputs of each function.
  void checkStaging() const;
  const StateSpec *findState(std::string_view name) const;
  /// Whether there are states of which each rank saves its own part.
  bool hasShards() const;
  /// Bytes of the shards of states on `rank` of `ranks`.
  int64_t getShardBytes(int64_t rank, int64_t ranks) const;
  /// Bytes of the payloads of `ranks` ranks.
  int64_t getPayloadBytes(int64_t ranks) const;
  const FunctionSpec *findFunction(std::string_view name,
                                   size_t variant = 0) const;
  /// The name of the function in the compiled module.
  std::string getSymbol(const FunctionSpec &function) const;
  const HyperparameterSpec *findHyperparameter(std::string_view name) const;
};

/// Reads a manifest; every offset and size in the result is in range. Throws
/// failure naming the field, also when its ABI version is not the runtime's.
Manifest parseManifest(std::string_view json);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MANIFEST_H
