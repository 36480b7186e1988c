// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The elements of a state that a rank holds, as tensors of a checkpoint. A
// state that ranks hold as a whole is a tensor of its shape; of one in shards
// or parts each rank saves a tensor of one dimension, and beside it, in the
// metadata of the file, which elements of the whole these are.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_SAVEDELEMENTS_H
#define INGOT_RUNTIME_TRAINER_STATE_SAVEDELEMENTS_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/trainer/session/Session.h"

#include <functional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Whether each rank saves its elements of the state.
bool isInShards(const Session &session, const StateSpec &spec);

/// Adds the elements that this rank holds of a state in shards to what it
/// saves, as `name`, unless an earlier rank has the same.
void addShard(SafeTensors &shards, const Session &session,
              const StateSpec &spec, const std::string &name,
              const TensorView &held);

/// Takes `count` elements of a state, from `first` on among those of this
/// rank's part, which are at `from`.
using TakeElements = std::function<void(int64_t first, int64_t count,
                                        const char *from, DType dtype)>;

/// Calls `take` with the elements of a whole tensor that this rank holds.
void readWhole(const Session &session, const StateSpec &spec,
               const TensorView &tensor, const TakeElements &take);

/// Calls `take` with the elements that this rank holds, out of what ranks have
/// saved as `name`, maybe on another mesh. Returns false if none has saved any.
/// Throws badInput if they do not fit the state, or do not hold all elements.
bool readShards(const Session &session, const StateSpec &spec,
                const std::string &name, const std::vector<SafeTensors> &shards,
                const std::string &where, const TakeElements &take);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_SAVEDELEMENTS_H
