// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checkpoints: DIR/step-N holds state.safetensors and checkpoint.json, and
// DIR/latest names the newest whole one. At every instant `latest` names a
// checkpoint that is complete on disk.
//
// States that ranks have shards of are in shard-R.safetensors, one of each
// rank: a tensor of rank 1 under the state's name, and under that name in the
// file's metadata the state's element that is its first. States of which each
// rank has its own value are there too, whole.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/SafeTensors.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Where the run stood; with the state, all that a resumed run needs.
struct CheckpointInfo {
  int64_t step = 0, seed = 0, samples = 0;
  bool shuffle = true;
};

/// The state in a checkpoint: whole tensors, and pieces of others.
struct CheckpointState {
  SafeTensors whole;
  std::vector<SafeTensors> shards;
};

/// Writes rank `rank`'s shards into the folder of an unfinished checkpoint.
/// Returns the file's checksum. Throws failure.
uint32_t saveShards(const std::string &folder, int64_t rank,
                    const SafeTensors &shards);

/// Makes all ranks write their shards into the folder, and returns the
/// checksums of their files. May throw.
using ShardWriter =
    std::function<std::vector<uint32_t>(const std::string &folder)>;

/// Writes a new checkpoint, points `latest` at it, then removes all but the
/// newest two. Throws failure.
void saveCheckpoint(const std::string &directory, const CheckpointInfo &info,
                    const SafeTensors &state,
                    const ShardWriter &writeShards = {});

/// Reads the checkpoint that `latest` names, or `directory` itself if it is
/// one, and hands its state to `load` with its path. Throws badInput.
CheckpointInfo
loadCheckpoint(const std::string &directory,
               const std::function<void(const CheckpointState &state,
                                        const std::string &path)> &load);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H
