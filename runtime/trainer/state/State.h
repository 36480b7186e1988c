// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The initial values of states, and states as tensors of a file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_STATE_H
#define INGOT_RUNTIME_TRAINER_STATE_STATE_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/trainer/session/Session.h"

#include <cstdint>
#include <map>
#include <string>

namespace ingot::runtime {

class Communicator;
class Console;

/// Initializes every state as the manifest says, then from `initPath`
/// (safetensors) if it is not empty. Throws badInput or failure.
void initializeState(Session &session, uint64_t seed,
                     const std::string &initPath, Console &console);

/// Sets the states of the model to the weights in a safetensors file, as
/// initializeState does. Throws badInput before it changes any.
void loadWeightsFile(Session &session, const std::string &path,
                     Console &console);

/// Throws badInput unless the states of a checkpoint at `path` are those that
/// restoreState takes.
void checkState(const Session &session, const CheckpointState &saved,
                const std::string &path);

/// Throws badInput unless a tensor can be copied into a state.
void checkTensor(const StateSpec &spec, const TensorView &tensor,
                 const std::string &where);

/// Copies a tensor into a state, converting between float types. What a file
/// that is mapped holds already stays there. Throws badInput.
void assignState(Session &session, const StateSpec &spec,
                 const TensorView &tensor, const std::string &where);

/// Restores every state from a checkpoint at `path`, whose shards may be those
/// of another number of ranks. Optional states that it lacks keep their initial
/// values. Throws badInput.
void restoreState(Session &session, const CheckpointState &saved,
                  const std::string &path);

/// Sets the compute copies of weights to the values of the weights.
void refreshCopies(Session &session);

/// Returns the unsharded states for a checkpoint.
SafeTensors viewWholeStates(const Session &session);

/// Returns the states that a checkpoint leaves to the trainer's weights, with
/// their checksums.
std::map<std::string, uint32_t> listBase(const Session &session);

/// Returns this rank's shards for a checkpoint.
SafeTensors viewShards(const Session &session);

/// Broadcasts the states of rank 0, except for those with a value for each
/// rank, and gives each rank its own random numbers. Throws failure if ranks do
/// not run the same trainer from the same step.
void shareState(Session &session, Communicator &ranks, int64_t step);

/// Returns a view of a state.
TensorView viewState(const Session &session, const StateSpec &spec);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_STATE_H
