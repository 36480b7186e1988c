// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Starts the steps of a run, and reads their results in order. On a device with
// queues, steps stay in flight while the next ones are started.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_STEPRUNNER_H
#define INGOT_RUNTIME_TRAINER_LOOP_STEPRUNNER_H

#include "runtime/observe/Progress.h"
#include "runtime/observe/StepStatistics.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/input/RunData.h"
#include "runtime/trainer/run/RunContext.h"
#include "runtime/trainer/run/RunPlan.h"
#include "runtime/trainer/run/TrainingLog.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime {

class StepRunner {
public:
  StepRunner(const RunContext &context, const RunData &data, RunPlan &plan,
             const StepHooks &hooks, Progress &progress, TrainingLog &log);

  /// Starts to make the batches of the steps that are left.
  void open();
  /// Ends making batches.
  void close() { feed.reset(); }
  /// Makes batches from now on in that many threads.
  void setWorkers(int64_t workers) { feed->setWorkers(workers); }

  /// Sets how many of the steps so far made no update, because loss scaling
  /// skipped them before the run was resumed or went back.
  void setSkipped(int64_t steps) { skippedBefore = steps; }

  /// Waits for the samples of the next step, where they come through a pipe.
  /// Returns false if there are none.
  bool waitForNext();
  /// Starts one step, and finishes earlier steps that may not stay in flight.
  /// Throws Error; NotFinite if the run may go back.
  void run();
  /// Reads the results of the oldest steps until `inFlight` steps are in
  /// flight.
  void finish(size_t inFlight = 0);
  /// Forgets the steps in flight, and their batches.
  void drop();

private:
  /// A step in flight.
  struct Started {
    int64_t number;
    double rate;
    /// The time that its data took, in milliseconds.
    double dataMs;
    Results results;
    /// The samples of the step, and the cost of its batches.
    size_t group;
    QueueTimes data;
  };

  /// Runs the micro-batches of a step, the last of them by `last`.
  void start(const Function &last, size_t variant,
             const std::map<std::string, double> &hyperparameters);
  /// Returns what the learning rate of the next step is multiplied by.
  /// Schedules count updates of the model, so that a step that may still be
  /// skipped is finished where that makes a difference.
  double findRateFactor();
  /// Calls all hooks before or after a step. If one of them inspects the step,
  /// no earlier one is in flight meanwhile, and the clock stands still.
  void visit(int64_t number, const std::function<void(StepHook &)> &call);
  ingot_observer *findObserver(int64_t number) const;
  StepMetrics read(const Started &step) const;

  RunContext context;
  const RunData &data;
  RunPlan &plan;
  const StepHooks &hooks;
  Progress &progress;
  TrainingLog &log;
  /// The cost of a step of each variant that is used.
  std::vector<StepCost> costs;
  std::unique_ptr<Feed> feed;
  std::deque<Started> started;
  /// The most steps in flight when the next one is started.
  size_t stepsAhead = 0;
  /// The time that the data of the step being started took so far.
  double dataMs = 0;
  int64_t skippedBefore = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_STEPRUNNER_H
