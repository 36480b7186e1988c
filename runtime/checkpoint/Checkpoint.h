// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checkpoints: DIR/step-N holds state.safetensors and checkpoint.json, and
// DIR/latest names the newest complete one. At every moment `latest` names a
// checkpoint that is complete on disk.
//
// Sharded states are in one file shard-R.safetensors for each rank: a tensor of
// rank 1 under the state's name, whose first element is the element of the
// state that the file's metadata has under the same name. States with a value
// for each rank are in these files, too, as whole tensors.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/SafeTensors.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// A place in the order of samples: an epoch, and how many samples of it come
/// before.
struct SamplePosition {
  int64_t epoch = 0, sample = 0;
};

/// How a run trains, which a resumed run inherits.
struct RunSettings {
  /// The values of the optimizer's hyperparameters.
  std::map<std::string, double> hyperparameters;
  /// The name of the schedule, and its steps of warm-up.
  std::string schedule = "constant";
  int64_t warmup = 0;
  /// The length of the run in steps; it is also that of the schedule.
  int64_t totalSteps = 0;
  /// The number of ranks, and the samples that all of them take in a step.
  int64_t ranks = 1, stepSamples = 0;
  /// The next sample; absent in checkpoints of earlier versions, and of runs
  /// with several shapes.
  std::optional<SamplePosition> position = std::nullopt;
};

/// The position of a run, which together with the state determines the rest of
/// it.
struct CheckpointInfo {
  int64_t step = 0, seed = 0, samples = 0;
  bool shuffle = true;
  /// Absent in checkpoints of earlier versions.
  std::optional<RunSettings> settings;
};

/// The state in a checkpoint: whole tensors, and shards of others.
struct CheckpointState {
  SafeTensors whole;
  std::vector<SafeTensors> shards;
};

/// Writes the shards of `rank` into the folder of an incomplete checkpoint.
/// Returns the file's checksum. Throws failure.
uint32_t saveShards(const std::string &folder, int64_t rank,
                    const SafeTensors &shards);

/// Makes all ranks write their shards into the folder, and returns the
/// checksums of their files. An empty name tells them that there is no folder.
/// May throw.
using ShardWriter =
    std::function<std::vector<uint32_t>(const std::string &folder)>;

/// Writes a new checkpoint, points `latest` at it, then removes all but the
/// newest two. Throws failure.
void saveCheckpoint(const std::string &directory, const CheckpointInfo &info,
                    const SafeTensors &state,
                    const ShardWriter &writeShards = {});

/// Removes what a process that was killed while it saved has left in the
/// folder. No other process may be writing there (FolderLock).
void removeLeftovers(const std::string &directory);

/// Reads the checkpoint that `latest` names, or `directory` itself if it is
/// one, and passes its state and its path to `load`. Throws badInput.
CheckpointInfo
loadCheckpoint(const std::string &directory,
               const std::function<void(const CheckpointState &state,
                                        const std::string &path)> &load);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H
