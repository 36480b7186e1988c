// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A run from start to end: train, evaluate, save, export, predict.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H
#define INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/files/ScratchFolder.h"
#include "runtime/data/VariantData.h"
#include "runtime/observe/MemoryCheck.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/observe/Progress.h"
#include "runtime/observe/diagnose/Diagnosis.h"
#include "runtime/trainer/evaluate/BestEvaluation.h"
#include "runtime/trainer/evaluate/Evaluate.h"
#include "runtime/trainer/input/Feed.h"
#include "runtime/trainer/options/TrainerOptions.h"
#include "runtime/trainer/run/Outcome.h"
#include "runtime/trainer/save/Saver.h"
#include "runtime/trainer/schedule/Plateau.h"
#include "runtime/trainer/session/Session.h"
#include "runtime/trainer/weights/BestWeights.h"
#include "runtime/trainer/weights/WeightAverage.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace ingot::runtime {

class BucketTuner;
class Console;
class Diagnoser;
class ParameterInspector;
class Profiler;
class SampleStream;
class StepTimer;
class StreamOrder;
class TensorBoard;
class Watch;

class Trainer {
public:
  /// Opens all inputs and prepares all outputs, so that a bad one fails before
  /// the first step.
  Trainer(Session &session, const Options &options, Console &console,
          Communicator &ranks);
  ~Trainer();

  /// Trains, and writes what was asked for. Problems with outputs are in the
  /// outcome afterwards; all others are thrown.
  void run();

  Outcome &getOutcome() { return outcome; }
  /// Returns what --diagnose measured; nothing without it.
  const std::optional<Evidence> &getEvidence() const { return evidence; }
  /// Null unless steps are only timed.
  const StepTimer *getTimer() const { return timer.get(); }
  /// Null unless the run is profiled.
  Profiler *getProfiler() { return profiler.get(); }

private:
  /// Opens the samples of the files, by variant of the function.
  Datasets open(const DataFiles &files, const Function &function);
  /// Starts to make the batches of the steps that are left.
  void startFeed();
  void openData();
  /// Opens samples that come through a pipe and are taken as they come; returns
  /// null for others.
  std::shared_ptr<SampleStream> openStream(const DataFiles &files);
  std::string explainWhole(const DataFiles &files) const;
  /// Prepares to take the samples of the stream, behind those that a resumed
  /// run took.
  void prepareStream();
  /// Waits for the samples of the next step. Returns false, and says so, if the
  /// stream ends or a signal comes.
  bool hasNextStep();
  void openEvalData();
  /// Finds out which classes the folders of pictures have, and whether they are
  /// those of the checkpoint.
  void findClasses(const DataFiles &files, const std::string &option);
  void planSteps();
  /// Says what is run, and writes it beside the log.
  void writeHeader();
  void restore();
  /// Starts one step, and finishes earlier steps that may not stay in flight.
  void trainStep();
  /// Calls `body` on the rank that inspects parameters, between two steps.
  void inspect(const std::function<void()> &body);
  /// Runs the micro-batches of a step, the last of them by `last`.
  void startStep(const Function &last, size_t variant,
                 const std::map<std::string, double> &hyperparameters);
  /// Reads the results of the oldest steps until `inFlight` steps are in
  /// flight.
  void finishSteps(size_t inFlight = 0);
  double getRateFactor();
  /// Prepares a learning rate that follows evaluations.
  void startPlateau();
  /// Lets the learning rate follow an evaluation.
  void followPlateau(const MetricList &metrics);
  StepStatistics::ReadCommunication makeCommunicationReader();
  /// Says how many of the steps that were taken made no update. Throws failure
  /// if none did.
  void reportSkipped(int64_t taken);
  bool shouldStop();
  void evaluateAndLog();
  /// Opens the log and what follows it, of a run that resumed after a step.
  void openLog(std::optional<int64_t> resumedStep);
  /// Warns if the log begins to have gaps.
  void checkLog();
  /// Prepares to save, without a change to what is in the folder.
  void openSaver();
  /// Saves the step while training goes on. All ranks call it.
  void save(bool isBest);
  /// Saves the step unless it is saved, and waits for it.
  void saveLast();
  /// Throws NotFinite if steps have left weights that are not finite, and that
  /// anything is made of. All ranks call it.
  void checkWeights();
  /// Writes the model and its predictions.
  void writeResults();
  /// Sets the weights to those that results are made of, and says which.
  void chooseWeights();
  /// Follows the best evaluation from now on, or from where the run that is
  /// resumed was.
  void openBest();
  /// Returns the best checkpoint of the folders of the run.
  std::string findBestCheckpoint() const;
  CheckpointInfo describeCheckpoint();
  /// Throws if another rank has other options or data: it would wait for ever,
  /// or train another model.
  void compareRanks();
  /// Ends a step of a run that is only measured.
  void endDiagnosedStep();
  /// Ends a run that was only measured.
  void finishDiagnosis();
  /// Goes back to the last checkpoint after a step that is not finite. Throws
  /// the problem if that has been tried often enough.
  void rollBack(const Error &problem);
  /// Reads a checkpoint into the states. Throws badInput.
  /// `before` as in loadNewestCheckpoint.
  CheckpointInfo readCheckpoint(const std::string &path,
                                std::optional<int64_t> before = std::nullopt);
  /// Counts the steps before this one that made no update.
  void countSkipped();
  /// Evaluates with the average of the weights, if there is one.
  std::optional<Evaluation> evaluateWeights();
  bool stopsEarly();
  bool takeTurns();
  RunSettings describeRun();
  /// Whether the step is the last one of an epoch or of the run.
  bool endsEpoch(int64_t number) const;
  /// Returns the micro-batches of a step on all ranks.
  int64_t getStepParts() const {
    return manifest.gradAccumulation * ranks.getSize();
  }
  /// Returns the samples of the largest step.
  int64_t getStepSamples() const;
  /// Chooses the variants of functions of that name that take samples.
  std::vector<DataVariant> choose(const std::string &function);

  Session &session;
  Options options;
  const Manifest &manifest;
  Console &console;
  Communicator &ranks;
  /// Properties of the run, which a resumed run inherits from its checkpoint.
  int64_t seed = 0, resumedSamples = 0;
  bool shuffle = true;
  /// The names of the classes of folders of pictures; empty for other data.
  ClassNames classes;
  /// The pictures of --cache; null without it.
  std::shared_ptr<PictureCache> cache;
  /// The variants that are used, one for all that differ in the batch alone,
  /// and their samples; null where one has none.
  std::vector<size_t> variants;
  Datasets data, evalData;
  /// What a step of each of them costs.
  std::vector<StepCost> costs;
  std::optional<Sampler> sampler;
  /// Samples that come through a pipe, and the order in which steps take them;
  /// null for files. Whether the run ends where they do.
  std::shared_ptr<SampleStream> stream;
  std::unique_ptr<StreamOrder> order;
  bool isEndless = false;
  std::unique_ptr<Feed> feed;
  /// Null without --tensorboard. It outlives the log, which it follows.
  std::unique_ptr<TensorBoard> board;
  std::unique_ptr<MetricsLog> log;
  std::optional<Progress> progress;
  Schedule schedule;
  /// Null unless the learning rate follows evaluations.
  std::optional<Plateau> plateau;
  /// The number of steps taken, and of steps of the whole run.
  int64_t step = 0, totalSteps = 0;
  /// The number of steps that loss scaling skipped before the run was resumed.
  int64_t skippedBefore = 0;
  std::optional<int64_t> evaluatedStep;
  bool evaluates = false, stopped = false, isEvaluationCut = false,
       /// Whether the last evaluation was the best so far.
      isBestNow = false, hasLogGap = false;
  /// The settings of the run that is resumed.
  std::optional<RunSettings> resumedSettings;
  Outcome outcome;
  /// Whether checkpoints, a model or predictions are made of the weights.
  bool weightsLeave = false;
  /// Where a run that is only measured saves.
  std::optional<ScratchFolder> scratch;
  std::optional<Saver> saver;
  std::optional<WeightAverage> average;
  std::optional<BestEvaluation> best;
  /// Its weights; nothing unless something is made of them.
  std::optional<BestWeights> bestWeights;
  /// What going back has made of the learning rate.
  double rateScale = 1;
  /// The step to which the run went back last, and how often in a row.
  int64_t rolledBackTo = -1, rollbacks = 0;

  /// What ranks agree on after a step; sums over them, once it has ended.
  struct Agreement {
    /// Those that received a signal, and those that write a checkpoint.
    int32_t signals = 0, writers = 0;
  } agreed;
  Communicator::Ticket agreement = 0;
  /// The stage of the save that `writers` is about.
  std::optional<int64_t> agreedStage;

  /// A step in flight.
  struct Started {
    int64_t step;
    double lr;
    /// The time that its data took, in milliseconds.
    double dataMs;
    Results results;
    /// What was sampled for the step, and what its batches cost.
    size_t group;
    QueueTimes data;
  };
  std::deque<Started> started;
  /// The time that the data of the step being started took so far.
  double dataMs = 0;
  /// The most steps in flight when the next one is started.
  size_t stepsAhead = 0;

  std::unique_ptr<Watch> watch;
  std::unique_ptr<MemoryCheck> memoryCheck;
  std::unique_ptr<Profiler> profiler;
  std::unique_ptr<ParameterInspector> inspector;
  std::unique_ptr<Diagnoser> diagnoser;
  std::optional<Evidence> evidence;
  std::unique_ptr<StepTimer> timer;
  std::unique_ptr<BucketTuner> bucketTuner;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H
