// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The checkpoints of a run: the one that it starts from, those that it saves,
// and going back to them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SAVE_CHECKPOINTING_H
#define INGOT_RUNTIME_TRAINER_SAVE_CHECKPOINTING_H

#include "runtime/core/files/ScratchFolder.h"
#include "runtime/trainer/run/RunContext.h"
#include "runtime/trainer/save/Saver.h"
#include "runtime/trainer/weights/WeightAverage.h"

#include <functional>
#include <optional>
#include <string>

namespace ingot::runtime {

class Error;
class Pruner;

class Checkpointing {
public:
  /// Returns what a checkpoint of the run as it is now says of it.
  using Describe = std::function<CheckpointInfo()>;

  /// Prepares to save, without a change to what is in the folder. All ranks
  /// call it. Throws usageError if the folder has checkpoints of another run.
  Checkpointing(const RunContext &context, Describe describe);

  /// Sets the states to their first values, or to those of the checkpoint that
  /// is resumed, whose settings the options inherit. Throws badInput and
  /// usageError.
  RunStart start();
  /// Reads a checkpoint into the states; the newest one before `before` if that
  /// is given. Throws badInput.
  CheckpointInfo read(const std::string &path,
                      std::optional<int64_t> before = std::nullopt);

  /// Null on ranks that save nothing.
  Saver *getSaver() { return saver ? &*saver : nullptr; }
  /// Whether any rank saves.
  bool isUsed() const;
  /// Whether checkpoints, a model or predictions are made of the weights.
  bool doWeightsLeave() const { return weightsLeave; }
  /// Null unless the run averages its weights.
  WeightAverage *getAverage() { return average ? &*average : nullptr; }
  /// Takes the weights after an update into the average.
  void updateAverage();
  /// Prunes what is due after that many steps, of the average too, where there
  /// is more than before.
  void pruneWeights(Pruner &pruner, int64_t steps);
  /// Exchanges the weights and their average, if there is one.
  void exchangeAverage();

  /// Removes the checkpoints that make way for this run's, and makes ready for
  /// saving beside training; `savesOften` is whether there is more to save than
  /// the last step.
  void open(bool savesOften);
  /// Saves the step while training goes on. All ranks that have states of their
  /// own call it, when no step is in flight.
  void save(bool isBest);
  /// Saves the step unless it is saved, and waits for it.
  void saveLast(bool isBest);
  /// Waits for what is being written.
  void wait();
  /// Reads the last checkpoint after a step that is not finite, or the one
  /// before it if that did not help. Throws `problem` if there is none.
  CheckpointInfo goBack(const Error &problem);
  /// Removes what a run has saved that was only measured. All ranks call it.
  void discard();

private:
  void restore(RunStart &start);
  /// Tells all ranks the folder that rank 0 saves to, and whether weights leave
  /// the run.
  void share();
  /// Waits until all weights have the values of the last step and are no longer
  /// copied: exchanges of parameters may still be in flight.
  void completeWeights();

  RunContext context;
  Describe describe;
  /// Where a run that is only measured saves.
  std::optional<ScratchFolder> scratch;
  std::optional<WeightAverage> average;
  std::optional<Saver> saver;
  bool weightsLeave = false;
  /// The step to which the run went back last, and how often in a row.
  int64_t lastTarget = -1, returns = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SAVE_CHECKPOINTING_H
