//===----------------------------------------------------------------------===//
//
// Checkpoints: DIR/step-N holds state.safetensors and checkpoint.json, and
// DIR/latest names the newest whole one. At every instant `latest` names a
// checkpoint that is complete on disk.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/SafeTensors.h"

#include <cstdint>
#include <functional>
#include <string>

namespace ingot::runtime {

/// Where the run stood; with the state, all that a resumed run needs.
struct CheckpointInfo {
  int64_t step = 0, seed = 0, samples = 0;
  bool shuffle = true;
};

/// Writes a new checkpoint, points `latest` at it, then removes all but the
/// newest two. Throws failure.
void saveCheckpoint(const std::string &directory, const CheckpointInfo &info,
                    const SafeTensors &state);

/// Reads the checkpoint that `latest` names, or `directory` itself if it is
/// one, and hands its state to `load` with its path. Throws badInput.
CheckpointInfo loadCheckpoint(
    const std::string &directory,
    const std::function<void(const SafeTensors &state, const std::string &path)>
        &load);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CHECKPOINT_CHECKPOINT_H
