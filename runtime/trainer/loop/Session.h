// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A loaded module with its memory: runs the compiled functions, and hides from
// the rest of the trainer whether the host shares memory with the device.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_SESSION_H
#define INGOT_RUNTIME_TRAINER_LOOP_SESSION_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/core/Device.h"
#include "runtime/core/Manifest.h"
#include "runtime/data/Dataset.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A compiled function, ready to run.
struct Function {
  const FunctionSpec *spec = nullptr;
  ingot_step_fn run = nullptr;
  int32_t index = 0;
  /// With their offsets in the memory that the host fills.
  std::vector<InputSpec> inputs;
  /// Where inputs are in a staging block, and where in the arena.
  struct Stretch {
    int64_t from, to, bytes;
  };
  std::vector<Stretch> stretches;
};

/// The scalar outputs of a run, on their way to the host.
struct Results {
  const FunctionSpec *function = nullptr;
  /// Where they are once `arrived` is past; null if they are in the arena.
  char *scalars = nullptr;
  Transfers::Mark arrived = 0;
};

class Console;

class Session {
public:
  /// Checks the module and opens its device, as `rank` of `ranks`. Throws
  /// failure.
  Session(const ingot_module_t &module, const Manifest &manifest,
          int64_t rank = 0, int64_t ranks = 1);

  const Manifest &getManifest() const { return manifest; }
  const ingot_module_t &getModule() const { return module; }
  ingot_context &getContext() { return context; }

  /// The function of that name and variant; null if the module has none.
  const Function *findFunction(std::string_view name, size_t variant = 0) const;

  const Device &getDevice() const { return *device; }
  /// Device::tune.
  bool tune(const std::string &path) { return device->tune(path); }

  /// Where the host sees a state: between fetchState() and storeState(). At
  /// first, all states are zeros and can be written.
  /// Of a state in shards, only the elements that getHeld() says are there.
  char *getPlace(const StateSpec &spec) {
    return spec.shard ? hostShards + shardOffsets.at(&spec)
                      : hostState + spec.offset;
  }
  const char *getPlace(const StateSpec &spec) const {
    return spec.shard ? hostShards + shardOffsets.at(&spec)
                      : hostState + spec.offset;
  }
  /// All that is not in shards.
  char *getStates() { return hostState; }
  int64_t getRanks() const { return context.rankCount; }
  /// The elements of the state that this rank has.
  ElementRange getHeld(const StateSpec &spec) const {
    return spec.getHeld(context.rank, context.rankCount);
  }
  /// Gives functions the states that the host wrote.
  void storeState();
  /// Device::completeState: before functions that not all ranks run alike.
  void completeState() { device->completeState(); }
  /// Gives the host the states that functions wrote, completed.
  void fetchState();

  /// Fills the batched inputs of `function` from the samples.
  void fillBatch(const Function &function, const Dataset &data,
                 const int64_t *samples, int64_t count);
  /// Fills the scalar inputs and runs. Throws failure if the step failed.
  void run(const Function &function,
           const std::map<std::string, double> &hyperparameters,
           int64_t validSamples);
  /// Asks for the scalar outputs of the last run, which was of `function`.
  Results fetchResults(const Function &function);
  /// How many more runs may be started, and their results asked for, before the
  /// results of one are read: none where a run is a call.
  size_t getRunsAhead() const { return transfers ? results.size() - 1 : 0; }
  /// A scalar, which has arrived then; NaN if the function has none so named.
  double readScalar(const Results &from, std::string_view output);
  /// Says, once each, what the user should know of how functions run.
  void sayNotes(Console &console) const;
  /// An output of the last run, until the next.
  const char *getOutput(const TensorSpec &output);
  /// What a kernel wrote, until the next call; for observers.
  const char *read(const KernelOutput &output);

private:
  /// What inputs come through in turn: the host's memory, and the device's.
  struct Staging {
    char *host = nullptr, *device = nullptr;
    /// The host's memory has been copied; the device's has.
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
  std::unique_ptr<Device> device;
  /// Goes before the device: it keeps objects of its libraries.
  ingot_context context;
  /// Null if the host uses the device's memory; then all that follows is, too.
  Transfers *transfers;
  Block stateCopy, shardCopy, copy;
  /// The first is filled, or was last.
  std::array<Staging, INGOT_STAGING_BLOCKS> inputs;
  /// The first was asked for last.
  std::array<Results, 2> results;
  /// Of copies that the host waits for at once.
  Transfers::Mark copied = 0;

  /// The block for shards of states, and where in it each state would start.
  char *shards = nullptr;
  int64_t shardBytes = 0;
  std::map<const StateSpec *, int64_t> shardOffsets;

  char *hostState, *hostShards = nullptr, *hostInputs = nullptr;
  std::vector<Function> functions;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_SESSION_H
