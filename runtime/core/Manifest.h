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
  LowCopy,
  Accumulator,
  Residual,
  Basis,
  LowerHalf
};
enum class InitKind { Weights, Fill, Normal, Copy };

/// Where a tensor is in a bucket of which ranks have shards (Shard.h).
struct ShardPlace {
  int64_t first = 0, of = 0;
};

/// With `shard`, its offset is that of an address (ingot_shards).
struct StateSpec : TensorSpec {
  StateRole role = StateRole::Parameter;
  InitKind init = InitKind::Weights;
  /// The value of a fill, or mean and deviation of normal draws.
  double value = 0, mean = 0, deviation = 0;
  /// The state that a copy follows.
  std::string of;
  std::optional<ShardPlace> shard;
  /// The states that hold its upper and lower half (splitHalves), if it is not
  /// stored itself.
  std::vector<std::string> halves;

  /// The elements that `rank` of `ranks` has.
  ElementRange getHeld(int64_t rank, int64_t ranks) const;
  /// What they take, aligned.
  int64_t getShardBytes(int64_t rank, int64_t ranks) const;

  /// Whether each rank has a value of its own.
  bool isOwn() const { return role == StateRole::Residual; }
  /// Whether checkpoints hold the state.
  bool isSaved() const {
    return init != InitKind::Copy && role != StateRole::Accumulator;
  }
  /// Whether a run may go on from a checkpoint without the state.
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

struct InputSpec : TensorSpec {
  InputKind kind = InputKind::Data;
  /// Of integer labels: the number of classes they index.
  std::optional<int64_t> classes;

  bool isBatched() const {
    return kind == InputKind::Data || kind == InputKind::Labels;
  }
};

/// A floating-point tensor that a kernel writes.
struct KernelOutput {
  DType dtype = DType::F32;
  int64_t offset = 0, elements = 0;
  /// In the state block, else in the arena.
  bool inState = false;
};

struct KernelSpec {
  std::string name, kind;
  std::vector<std::string> onnxNodes;
  std::vector<KernelOutput> outputs;
  int64_t bytes = 0, flops = 0;
  /// What it takes at least on the machine it was compiled for; 0 if unknown.
  double boundMicroseconds = 0;
};

/// Memory in use at a function's peak.
struct LiveTensor {
  /// input, activation, gradient, workspace or output.
  std::string kind;
  std::vector<std::string> onnxNodes;
  int64_t bytes = 0;
};

/// A place in the arena, in use from kernel `first` to kernel `last`, both
/// included; what is read after the function has `last` behind all kernels.
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
  /// What lives in the arena at the peak, the largest first.
  std::vector<LiveTensor> live;
  std::vector<ArenaInterval> intervals;
  std::vector<KernelSpec> kernels;

  const TensorSpec *findOutput(std::string_view name) const;
  /// What the inputs take one after the other, each aligned.
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

/// Where messages of all ranks go (ingot_gather_messages_start): the place of
/// their address in the table of ingot_shards, and what each rank sends at
/// most.
struct MessageSpec {
  int64_t offset = 0, rankBytes = 0;

  /// Of all ranks.
  int64_t getBytes(int64_t ranks) const;
};

enum class WeightsKind { Embed, Sidecar, None };

struct Manifest {
  std::string model, producer, targetKind, targetArch, precision, loss,
      optimizer;
  std::vector<std::string> features;
  /// Samples of a micro-batch, and micro-batches of a step.
  int64_t batch = 0, gradAccumulation = 1;
  /// How many steps, from the first on, run uncompressed_step.
  int64_t uncompressedSteps = 0;
  bool evalPartial = true, dataParallel = false;
  WeightsKind weights = WeightsKind::Embed;
  int64_t stateBytes = 0, arenaBytes = 0;
  /// Of all blocks that inputs come through, on a device (Abi.h).
  int64_t stagingBytes = 0;
  std::vector<StateSpec> states;
  std::vector<MessageSpec> messages;
  std::vector<HyperparameterSpec> hyperparameters;
  /// What tells the variants of the functions apart, like `seq=128`; one empty
  /// name where there are none.
  std::vector<std::string> variants = {""};
  /// By variant in the order train_step, eval_step, predict.
  std::vector<FunctionSpec> functions;
  std::vector<ExportPiece> exportPieces;

  const StateSpec *findState(std::string_view name) const;
  /// Whether ranks have states of which they save their own part.
  bool hasShards() const;
  /// Memory for the states that ranks have shards of, on `rank` of `ranks`.
  int64_t getShardBytes(int64_t rank, int64_t ranks) const;
  /// Memory for the payloads of that number of ranks.
  int64_t getMessageBytes(int64_t ranks) const;
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
