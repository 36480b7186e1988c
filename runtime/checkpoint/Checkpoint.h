// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checkpoints: DIR/step-N holds state.safetensors and checkpoint.json, and
// DIR/latest names the newest complete one, and DIR/best the best one. At every
// moment `latest` names a checkpoint that is complete on disk. States that no
// step changes may be in constants.safetensors, to which several checkpoints
// have links.
//
// Sharded states are in one file shard-R.safetensors for each rank: a tensor of
// rank 1 under the state's name, whose first element is the element of the
// state that the file's metadata has under the same name. Of a state that ranks
// have parts of (docs/spec/partition.md), it is the element of the part, and
// words for each dimension follow: PART/PARTS:SEGMENT,SEGMENT+PADDING, as in
// "0 1/2:51+1 0/1:8" for the second half of the rows of a tensor of 51 x 8. The
// first rank that has a part saves it. States with a value for each rank are in
// these files, too, as whole tensors.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/CheckpointInfo.h"
#include "runtime/checkpoint/SafeTensors.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

class Error;

/// The state in a checkpoint: whole tensors, and shards of others.
struct CheckpointState {
  SafeTensors whole;
  std::vector<SafeTensors> shards = {};
  /// The states that it leaves to the weights of the trainer, with the CRC-32
  /// of their bytes.
  std::map<std::string, uint32_t> base = {};
};

/// The checkpoints that a folder keeps.
struct Retention {
  /// How many of the newest checkpoints.
  int64_t newest = 2;
  /// Whether the checkpoint being saved is the best so far; `best` names the
  /// best one, which is kept apart.
  bool isBest = false;
};

/// Writes the shards of `rank` into the folder of a checkpoint that has no name
/// yet. Returns the file's checksum. Throws failure.
uint32_t saveShards(const std::string &folder, int64_t rank,
                    const SafeTensors &shards);

/// A checkpoint to be written.
struct CheckpointContent {
  CheckpointInfo info;
  SafeTensors state;
  /// States that no step changes, in a file of their own. Checkpoints of a
  /// folder share it, every other one the same, so that damage to one file
  /// leaves the checkpoint before it whole. The first save writes both files.
  SafeTensors constants = {};
  /// Their checksum, if they were saved before.
  std::optional<uint32_t> constantsCrc = std::nullopt;
};

/// A checkpoint that is being written, in a folder without its final name, to
/// which other ranks may add their shards.
class NewCheckpoint {
public:
  /// Makes the folder. Throws failure.
  NewCheckpoint(const std::string &directory, int64_t step);
  NewCheckpoint(const NewCheckpoint &) = delete;
  NewCheckpoint &operator=(const NewCheckpoint &) = delete;
  /// Removes a folder that did not get its name.
  ~NewCheckpoint();

  const std::string &getFolder() const { return temporary; }
  /// Writes the states; again after a failure, which it throws.
  void write(const CheckpointContent &content);
  /// Gives it its name once all is written, points `latest` at it, then removes
  /// checkpoints that need not be kept. `shardCrcs` are the checksums of the
  /// ranks' shards. May be called again after a failure, which it throws.
  void commit(const CheckpointInfo &info, const Retention &retention = {},
              std::vector<uint32_t> shardCrcs = {});
  /// Returns the checksum of the states that do not change, if it has any.
  std::optional<uint32_t> getConstantsCrc() const { return constantsCrc; }

private:
  std::string directory, name, temporary;
  uint32_t stateCrc = 0;
  std::optional<uint32_t> constantsCrc;
  bool isNamed = false;
};

/// Writes and commits a checkpoint without shards. Returns the checksum of the
/// states that do not change. Throws failure.
std::optional<uint32_t> saveCheckpoint(const std::string &directory,
                                       const CheckpointContent &content,
                                       const Retention &retention = {});

/// Removes what a process that was killed while it saved has left in the
/// folder. No other process may be writing there (FolderLock).
void removeLeftovers(const std::string &directory);

/// Returns the name of the newest checkpoint in a folder; empty if there is
/// none.
std::string findNewest(const std::string &directory);

/// Whether `path` is the folder, or a checkpoint in it or the file that names
/// one.
bool isInFolder(const std::string &path, const std::string &directory);

/// Removes all checkpoints of a folder, and the files that name them.
void removeCheckpoints(const std::string &directory);

/// Reads a state and its path into the program.
using StateReader =
    std::function<void(const CheckpointState &state, const std::string &path)>;

/// Reads the checkpoint that `latest` names, or `directory` itself if it is one
/// or the file `latest` or `best` of a folder, and passes its state and its
/// path to `load`. Throws badInput.
CheckpointInfo loadCheckpoint(const std::string &directory,
                              const StateReader &load);

/// Loads as loadCheckpoint does, but where the checkpoint that a folder's
/// `latest` names is damaged, reads the newest before it that is whole. `warn`
/// is called with what is wrong with each that is passed over. Throws badInput
/// if none is whole. With `before`, only checkpoints of earlier steps count.
CheckpointInfo
loadNewestCheckpoint(const std::string &directory, const StateReader &load,
                     const std::function<void(const Error &)> &warn,
                     std::optional<int64_t> before = std::nullopt);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H
