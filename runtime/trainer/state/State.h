// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Initial values of the state, and the state as tensors of a file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_STATE_H
#define INGOT_RUNTIME_TRAINER_STATE_STATE_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/trainer/loop/Session.h"

namespace ingot::runtime {

class Communicator;
class Console;

/// Gives every state its initial value: as the manifest says, then from
/// `initPath` (safetensors) if it is not empty. Throws badInput, failure.
void initializeState(Session &session, uint64_t seed,
                     const std::string &initPath, Console &console);

/// Gives every state its value from a checkpoint at `path`, whose shards may be
/// of another number of ranks. States that it may lack, and does, have their
/// initial values. Throws badInput.
void restoreState(Session &session, const CheckpointState &saved,
                  const std::string &path);

/// The states that this rank has whole, for a checkpoint.
SafeTensors viewWholeStates(const Session &session);

/// Writes this rank's shards into rank 0's folder, together with all ranks;
/// returns the checksums of all files. Throws failure on all ranks where one
/// cannot write.
std::vector<uint32_t> saveAllShards(const Session &session, Communicator &ranks,
                                    std::string folder);

/// Gives all ranks the states of rank 0, except each rank's own ones, and each
/// its own random numbers.
/// Throws failure where ranks do not run the same trainer from the same step.
void shareState(Session &session, Communicator &ranks, int64_t step);

/// The state as a view.
TensorView viewState(const Session &session, const StateSpec &spec);

/// Throws failure if the module holds no model to export.
void checkExportable(const Session &session);

/// Writes the trained model back as ONNX. Throws.
void exportModel(const Session &session, const std::string &path);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_STATE_H
