// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A loaded module with its memory. It runs the compiled functions, and hides
// from the rest of the trainer whether the device has its own memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SESSION_SESSION_H
#define INGOT_RUNTIME_TRAINER_SESSION_SESSION_H

#include "runtime/abi/Abi.h"
#include "runtime/comm/RankMesh.h"
#include "runtime/core/Context.h"
#include "runtime/core/Device.h"
#include "runtime/core/File.h"
#include "runtime/core/Manifest.h"
#include "runtime/core/Memory.h"
#include "runtime/trainer/session/FiledStates.h"
#include "runtime/trainer/session/PartPlaces.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// A compiled function, ready to run.
struct Function {
  const FunctionSpec *spec = nullptr;
  ingot_step_fn run = nullptr;
  int32_t index = 0;
  /// The inputs with their offsets in the memory that the host fills.
  std::vector<InputSpec> inputs;
  /// A contiguous range of inputs that is copied from a staging block to the
  /// arena.
  struct StagedRange {
    int64_t from, to, bytes;
  };
  std::vector<StagedRange> stagedRanges;
};

/// The outputs of a run that are scalars, or that metrics are computed from,
/// while they are copied to the host.
struct Results {
  const FunctionSpec *function = nullptr;
  /// The host's copy, once `arrived` is reached; null if they are in the arena.
  char *values = nullptr;
  Transfers::Mark arrived = 0;
};

class Console;

class Session {
public:
  /// Checks the module and opens its device, as a rank of the mesh of a run.
  /// Throws failure.
  Session(const ingot_module_t &module, const Manifest &manifest,
          const RankMesh &mesh = {}, int64_t rank = 0);

  const Manifest &getManifest() const { return manifest; }
  const ingot_module_t &getModule() const { return module; }
  ingot_context &getContext() { return context; }

  /// Returns the function of that name and variant; null if the module has
  /// none.
  const Function *findFunction(std::string_view name, size_t variant = 0) const;

  /// The file of weights that the compiler wrote beside what it linked: by
  /// default the executable's.
  void setSidecar(std::string path) { sidecar = std::move(path); }
  std::string getSidecar() const {
    return sidecar.empty() ? getExecutablePath() + ".safetensors" : sidecar;
  }

  const Device &getDevice() const { return *device; }
  /// Calls Device::tune.
  bool tune(const Device::Tuning &tuning) { return device->tune(tuning); }
  bool allowVariation() { return device->allowVariation(); }
  void prepareProfile() { device->prepareProfile(); }

  /// Returns the host's address of a state. It is valid between fetchState()
  /// and storeState(), and at first, when all states are zero. A sharded state
  /// has only the elements of getHeld() there, and one in parts those of this
  /// rank, unless setWhole() was called.
  char *getPlace(const StateSpec &spec) {
    return const_cast<char *>(std::as_const(*this).getPlace(spec));
  }
  const char *getPlace(const StateSpec &spec) const {
    if (spec.home == StateHome::File)
      return filed.getPlace(spec);
    if (const char *all = findWhole(spec))
      return all;
    return spec.shard ? hostShards + shardOffsets.at(&spec)
                      : hostState + spec.offset;
  }
  /// Gives a state that ranks have shards or parts of all of its elements on
  /// the host, as files have them, which getPlace() returns from now on.
  void setWhole(const StateSpec &spec, Block elements) {
    whole[&spec] = std::move(elements);
  }
  /// Returns these elements; null if there are none.
  const char *findWhole(const StateSpec &spec) const {
    auto found = whole.find(&spec);
    return found == whole.end() ? nullptr : found->second.getData();
  }
  /// The states that stay in the weights.
  FiledStates &getFiled() { return filed; }
  const FiledStates &getFiled() const { return filed; }
  /// Calls Device::mapStates.
  bool mapStates(int descriptor, uint64_t fileOffset, const std::string &path) {
    return device->mapStates(descriptor, fileOffset, path);
  }
  /// Precedes every write to a state that may be in the weights.
  void makeOwn(const StateSpec &spec) {
    if (filed.contain(spec))
      filed.makeOwn(spec, hostState + spec.offset);
  }
  /// Returns the host's address of all states that are in the block.
  char *getStates() { return hostState; }
  /// Returns how many ranks have samples of their own: those along `data`.
  int64_t getRanks() const { return context.rankCount; }
  /// Returns where a rank's elements of a state are in the whole of it: those
  /// of this rank, or of any.
  PartPlaces getPlaces(const StateSpec &spec) const {
    return getPlaces(spec, rank);
  }
  PartPlaces getPlaces(const StateSpec &spec, int64_t ofRank) const;
  /// Whether no rank before one has the same elements of a state.
  bool isFirstHolder(const StateSpec &spec, int64_t ofRank) const;
  bool isFirstHolder(const StateSpec &spec) const {
    return isFirstHolder(spec, rank);
  }
  /// Returns the elements of the state that this rank holds.
  ElementRange getHeld(const StateSpec &spec) const {
    return spec.getHeld(context.rank, context.rankCount);
  }
  /// Copies the states that the host wrote to the device.
  void storeState();
  /// Ends what steps left in flight: collectives, and what
  /// Device::completeState does. It has to precede functions that not all ranks
  /// run.
  void completeState();
  /// Completes the states that functions wrote, and copies them to the host.
  void fetchState();

  /// Returns the memory for the inputs of the next run, at the offsets of
  /// Function::inputs.
  char *prepareInputs();
  /// Fills the scalar inputs and runs. Throws failure if the step failed.
  void run(const Function &function,
           const std::map<std::string, double> &hyperparameters,
           int64_t validSamples);
  /// Starts the copy of the results of the last run, which was of `function`.
  Results fetchResults(const Function &function);
  /// Returns how many more runs can be started, and their results fetched,
  /// before the results of a run are read: 0 if runs are calls on the CPU.
  size_t getRunsAhead() const { return transfers ? results.size() - 1 : 0; }
  /// Waits for a scalar and returns it; NaN if the function has none of that
  /// name.
  double readScalar(const Results &from, std::string_view output);
  /// Waits for an output that is among the results and returns its elements.
  std::vector<double> readValues(const Results &from, const TensorSpec &output);
  /// Prints each note on how functions run once.
  void printNotes(Console &console) const;
  /// Returns an output of the last run, which is valid until the next run.
  const char *getOutput(const TensorSpec &output);
  /// Returns an output of a kernel, which is valid until the next call, for
  /// observers.
  const char *read(const KernelOutput &output);
  /// Returns the elements of a sharded state that this rank holds between two
  /// steps, valid as the output of a kernel is.
  const char *readShard(const StateSpec &spec);

private:
  /// A pair of blocks that inputs pass through, in the host's memory and in the
  /// device's.
  struct Staging {
    char *host = nullptr, *device = nullptr;
    /// The marks after which the host's block, and the device's, have been
    /// copied.
    Transfers::Mark sent = 0, taken = 0;
  };
  void layOutStaging();
  void waitForCopies();
  void layOutInputs(Function &function);
  void sendInputs(const Function &function);
  void layOutShards();
  void makeStateCopy();
  const char *read(const char *place, int64_t bytes);

  const ingot_module_t &module;
  const Manifest &manifest;
  RankMesh mesh;
  int64_t rank;
  std::string sidecar;
  std::unique_ptr<Device> device;
  /// Destroyed before the device, because it caches objects of its libraries.
  ingot_context context;
  /// Null if the host uses the device's memory; then the blocks that follow are
  /// empty.
  Transfers *transfers;
  Block stateCopy, shardCopy, copy;
  /// The staging blocks; the first is the one that was filled last.
  std::array<Staging, INGOT_STAGING_BLOCKS> inputs;
  /// The results of the last runs; the first is the newest.
  std::array<Results, 2> results;
  /// The mark of copies that the host waits for immediately.
  Transfers::Mark copied = 0;

  /// The block for shards of states, and the offset that the first element of
  /// each state would have in it.
  char *shards = nullptr;
  int64_t shardBytes = 0;
  std::map<const StateSpec *, int64_t> shardOffsets;
  FiledStates filed;
  /// All elements of states in shards or parts.
  std::map<const StateSpec *, Block> whole;

  char *hostState, *hostShards = nullptr, *hostInputs = nullptr;
  std::vector<Function> functions;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SESSION_SESSION_H
