// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Saves checkpoints of a run: a copy of the state is taken between two steps
// and written while training goes on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SAVE_SAVER_H
#define INGOT_RUNTIME_TRAINER_SAVE_SAVER_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/CheckpointWriter.h"
#include "runtime/core/files/FolderLock.h"
#include "runtime/trainer/save/JointSave.h"
#include "runtime/trainer/state/Snapshot.h"

#include <optional>
#include <set>
#include <string>

namespace ingot::runtime {

class Communicator;
class Console;
class Outcome;
class WeightAverage;

class Saver {
public:
  /// Takes the folder for this run. Throws failure.
  Saver(Session &session, Communicator &ranks, Outcome &outcome,
        Console &console, const std::string &folder, int64_t keep);

  /// Sets how many of the newest checkpoints are kept from now on.
  void setKeep(int64_t number) { keep = number; }

  /// Saves a step while training goes on. A step whose turn comes while an
  /// earlier one is still being written is left out, unless it is the best.
  /// `average` may be null. All ranks that have states of their own call it.
  void save(const CheckpointInfo &info, const WeightAverage *average,
            bool isBest);
  /// Waits for what is being written, and saves this step unless that was it.
  void saveLast(const CheckpointInfo &info, const WeightAverage *average,
                bool isBest);
  /// Plans for copies of the state, which save() makes.
  void prepare(const WeightAverage *average);
  /// Copies what is left to copy of a step that is being saved, before anything
  /// but a kernel writes states.
  void finishCopy() { snapshot.finish(); }
  /// Waits until nothing reads the state or writes to the folder. All ranks
  /// that have states of their own call it.
  void wait();
  /// Warns of what went wrong since the last call.
  void report();

  /// The stage of a save that needs all ranks, and whether this rank has
  /// something left to do in it (JointSave); nothing without one.
  std::optional<int64_t> getStage() const { return joint.getStage(); }
  bool isBusy() const { return joint.isBusy(); }
  /// Ends that stage unless it has ended. All ranks call it together, once none
  /// of them is busy.
  void endStage(int64_t stage);

private:
  CheckpointContent collect(const CheckpointInfo &info,
                            const WeightAverage *average) const;
  void write(const CheckpointContent &content, const Retention &retention);
  /// Starts to save, on all ranks. Throws failure.
  void startJoint(const CheckpointInfo &info, const WeightAverage *average,
                  const Retention &retention);
  /// Takes the result of a joint save that has ended.
  void endJoint();
  /// Whether an earlier step takes too long to write; the same on all ranks.
  bool isLate();
  bool hasShards() const;

  Session &session;
  Communicator &ranks;
  Outcome &outcome;
  Console &console;
  std::string folder;
  int64_t keep;
  /// Held while this process writes checkpoints.
  std::optional<FolderLock> lock;
  /// The checksum of the states that do not change, once they were saved. Only
  /// one thread writes at a time.
  std::optional<uint32_t> constantsCrc;
  /// The step that was saved last, and the one saved as the best.
  std::optional<int64_t> savedStep, bestStep;
  /// Problems since the last checkpoint that was saved.
  std::set<std::string> said;
  bool saidLate = false;
  Snapshot snapshot;
  CheckpointWriter writer;
  JointSave joint{ranks, writer};
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SAVE_SAVER_H
