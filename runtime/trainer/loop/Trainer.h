// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A run from start to end: train, evaluate, save, export, predict. The parts
// know their own work; this class says in which order it is done.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H
#define INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H

#include "runtime/observe/Progress.h"
#include "runtime/trainer/evaluate/Evaluator.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/input/RunData.h"
#include "runtime/trainer/loop/StepRunner.h"
#include "runtime/trainer/loop/StopAgreement.h"
#include "runtime/trainer/run/RunContext.h"
#include "runtime/trainer/run/RunPlan.h"
#include "runtime/trainer/run/TrainingLog.h"
#include "runtime/trainer/save/Checkpointing.h"

#include <optional>

namespace ingot::runtime {

class Trainer {
public:
  /// Opens all inputs and prepares all outputs, so that a bad one fails before
  /// the first step. Throws Error.
  explicit Trainer(const RunContext &context);
  ~Trainer();

  /// Trains, and writes what was asked for. Problems with outputs are in the
  /// outcome afterwards; all others are thrown.
  void run();

  /// Writes for the user what the hooks found.
  void report(const StepHook::Print &print);

private:
  /// Gives the states their first values on all ranks.
  RunStart start();
  /// Throws if another rank has other options or data: it would wait for ever,
  /// or train another model.
  void compareRanks();
  /// Says what is run, and writes it beside the log.
  void writeHeader();
  CheckpointInfo describe() const;
  RunSettings describeSettings() const;
  Progress::Settings makeProgressSettings() const;

  /// Takes the steps; returns when the last one is complete.
  void takeSteps();
  /// Waits for the samples of the next step. Returns false, and says so, if
  /// they end or the run is asked to stop.
  bool hasNextStep();
  /// Does what is due after a step; returns whether the run ends early.
  bool takeTurns();
  void evaluate();
  /// Saves the step while training goes on. All ranks call it.
  void save(bool isBest);
  /// Throws NotFinite if steps have left weights that are not finite, and that
  /// anything is made of. All ranks call it.
  void checkWeights();
  /// Goes back to the last checkpoint after a step that is not finite. Throws
  /// the problem if that has been tried often enough.
  void goBack(const Error &problem);
  /// Saves and evaluates what the last step left.
  void conclude();
  /// Says how many of the steps that were taken made no update. Throws failure
  /// if none did.
  void reportSkipped();
  /// Writes the model and its predictions.
  void writeResults();
  /// Returns the loss of one batch of the evaluation's data, if there is any.
  std::optional<double> computeBatchLoss();
  /// Writes the adapters of the model.
  void exportAdapter(const std::string &folder);
  /// Writes those of a model in shards, in which all ranks take part.
  void writeTogether();

  RunContext context;
  /// Whether steps are only measured, so that nothing is made of their weights.
  bool isMeasured;
  Checkpointing checkpointing;
  RunStart begin;
  RunData data;
  RunPlan plan;
  Evaluator evaluator;
  std::optional<TrainingLog> log;
  StepHooks hooks;
  std::optional<Progress> progress;
  std::optional<StepRunner> runner;
  StopAgreement agreement;
  /// Whether the run was asked to stop, and whether that cut an evaluation
  /// short.
  bool stopped = false, isEvaluationCut = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H
