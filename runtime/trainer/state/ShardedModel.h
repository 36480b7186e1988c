// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Models of which each rank has a part of the weights.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_SHARDEDMODEL_H
#define INGOT_RUNTIME_TRAINER_STATE_SHARDEDMODEL_H

#include "runtime/trainer/session/Session.h"

#include <string>

namespace ingot::runtime {

class Communicator;

/// Whether ranks have shards of the weights: functions then gather them, and
/// all ranks have to run the same functions.
bool isModelInShards(const Session &session);

/// Throws failure unless all ranks read the same files of weights, each its own
/// part, and badInput if an index of them is damaged. Does nothing if `path` is
/// empty or the model is not in shards.
void compareWeights(const Session &session, Communicator &ranks,
                    const std::string &path);

/// Gathers all weights in the host's memory of rank 0, behind fetchState(). All
/// ranks call it.
void gatherModel(Session &session, Communicator &ranks);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_SHARDEDMODEL_H
