// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A checkpoint of which each rank writes its part while training goes on.
//
// Ranks cannot wait for each other in the background, because all collectives
// have one order. Hence a save has stages: in the first each rank writes its
// part, in the second rank 0 gives the checkpoint its name. The ranks learn
// from an agreement that they have anyway after a step that all have done what
// a stage asks for, and begin the next stage together.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SAVE_JOINTSAVE_H
#define INGOT_RUNTIME_TRAINER_SAVE_JOINTSAVE_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/CheckpointWriter.h"
#include "runtime/core/Error.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ingot::runtime {

class Communicator;

class JointSave {
public:
  JointSave(Communicator &ranks, CheckpointWriter &writer)
      : ranks(ranks), writer(writer) {}

  /// Starts to write. Rank 0 has `content`, and each rank its `shards`, whose
  /// memory is theirs once `wait` returns, until the save has ended. All ranks
  /// call it together, with no save in progress. Throws failure on all of them
  /// if rank 0 cannot make the folder.
  void start(const std::string &directory, CheckpointContent content,
             SafeTensors shards, const Retention &retention,
             std::function<void()> wait);
  /// Counts the stages since the first save; odd and even alike on all ranks.
  /// Nothing while no save is in progress.
  std::optional<int64_t> getStage() const;
  /// Whether this rank has something left to do in the stage.
  bool isBusy() const { return writer.isBusy(); }
  /// Ends the stage; all ranks call it together, once none is busy. Returns
  /// whether that was the end of the save.
  bool endStage();
  /// Ends the save: all ranks call it together.
  void finish();

  /// Whether the last save that ended succeeded, its step, and whether it was
  /// of the best; the same on all ranks.
  bool hasSucceeded() const { return isSaved; }
  int64_t getStep() const { return step; }
  bool isOfBest() const { return retention.isBest; }
  /// Returns what another rank could not do, on rank 0, once.
  std::optional<Error> takeProblem();
  /// The checksum of the states that do not change, on rank 0.
  std::optional<uint32_t> getConstantsCrc() const { return constantsCrc; }

private:
  enum class Phase { None, Writing, Naming };
  void shareFolder(const std::string &directory);
  void startNaming();

  Communicator &ranks;
  CheckpointWriter &writer;
  Phase phase = Phase::None;
  int64_t stages = 0;
  /// Null on other ranks than 0.
  std::shared_ptr<NewCheckpoint> checkpoint;
  std::string folder;
  CheckpointInfo info;
  Retention retention;
  int64_t step = -1;
  /// The progress of the thread that writes; read once it is not busy.
  struct Part {
    bool isDone = false;
    uint32_t crc = 0;
  };
  std::shared_ptr<Part> part;
  std::optional<uint32_t> constantsCrc;
  std::optional<Error> problem;
  bool isSaved = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SAVE_JOINTSAVE_H
