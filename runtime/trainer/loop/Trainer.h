// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A run from start to end: train, evaluate, save, export, predict.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H
#define INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H

#include "runtime/comm/Communicator.h"
#include "runtime/data/Dataset.h"
#include "runtime/data/Sampler.h"
#include "runtime/observe/MemoryCheck.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/observe/Progress.h"
#include "runtime/trainer/loop/Session.h"
#include "runtime/trainer/options/Options.h"

#include <deque>
#include <memory>
#include <optional>

namespace ingot::runtime {

class Console;
class Watch;

class Trainer {
public:
  /// Opens all inputs, so that a bad one fails before the first step.
  Trainer(Session &session, const Options &options, Console &console,
          Communicator &ranks);
  ~Trainer();

  void run();

private:
  using Datasets = std::vector<std::unique_ptr<Dataset>>;

  /// The samples of the files, by variant of the function.
  Datasets open(const std::vector<std::string> &paths,
                const Function &function);
  void openData();
  void openEvalData();
  void planSteps();
  void restore();
  /// Starts one step, and finishes those before that it may not overtake.
  void trainStep();
  /// Runs the micro-batches, the last of them by `last`.
  void startStep(const Function &last, const Sampler::Batch &batch,
                 const std::map<std::string, double> &hyperparameters);
  /// Takes in the results of the oldest steps until so many are under way.
  void finishSteps(size_t underWay = 0);
  double getRateFactor();
  bool shouldStop();
  void evaluateAndLog();
  void save();
  /// Whether it is the last step of an epoch, or of the run.
  bool endsEpoch(int64_t number) const;
  /// Samples of all micro-batches of a step.
  int64_t getStepSamples() const {
    return manifest.batch * manifest.gradAccumulation * ranks.getSize();
  }

  Session &session;
  const Options &options;
  const Manifest &manifest;
  Console &console;
  Communicator &ranks;
  /// Of the run, which a resumed one takes over from its checkpoint.
  int64_t seed = 0, resumedSamples = 0;
  bool shuffle = true;
  /// By variant; null where there are no samples for one.
  Datasets data, evalData;
  std::optional<Sampler> sampler;
  std::unique_ptr<MetricsLog> log;
  std::optional<Progress> progress;
  Schedule schedule;
  /// Steps taken, and to take in all.
  int64_t step = 0, totalSteps = 0;
  /// Of the steps before this run, those that loss scaling skipped.
  int64_t skippedBefore = 0;
  std::optional<int64_t> evaluatedStep, savedStep;
  bool evaluates = false, stopped = false;

  /// How many ranks got a signal, once the agreement has ended.
  int32_t signals = 0;
  Communicator::Ticket agreement = 0;

  /// A step under way.
  struct Started {
    int64_t step;
    double lr;
    Results results;
  };
  std::deque<Started> started;
  /// How many steps may be under way when the next is started.
  size_t stepsAhead = 0;

  std::unique_ptr<Watch> watch;
  std::unique_ptr<MemoryCheck> memoryCheck;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_TRAINER_H
