// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The progress of training: collects the metrics of the steps in order, logs
// them, summarizes them for users, and ends a run that cannot continue.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_PROGRESS_H
#define INGOT_RUNTIME_OBSERVE_PROGRESS_H

#include "runtime/observe/MetricsLog.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ingot::runtime {

class Console;
class Watch;

/// A step that is not finite for no reason that its data shows.
class NotFinite : public Error {
public:
  explicit NotFinite(const Error &error) : Error(error) {}
};

class Progress {
public:
  /// The steps of a run that ends when its data do.
  static constexpr int64_t kEndless = int64_t(1) << 60;

  /// Names what is wrong with the samples of a step, or nothing.
  using DataCheck = std::function<std::optional<std::string>(int64_t step)>;

  struct Settings {
    /// The log has a line for every such step.
    int64_t logEvery = 1;
    /// Where there is no terminal, every such step prints a line; 0 for none.
    int64_t printEvery = 0;
    /// Whether a step that changed nothing because it was not finite is passed
    /// over, without loss scaling.
    bool skips = false;
    /// The metrics of steps beside the loss.
    std::vector<std::string> metrics = {};
    /// Null with one rank, and where the host does not wait for collectives.
    StepStatistics::ReadCommunication readCommunication = nullptr;
  };

  /// Starts the clock. `watch` is null unless it observes the steps.
  Progress(Console &console, MetricsLog &log, const Watch *watch,
           Settings settings, DataCheck findProblem);

  /// Adds a step that has ended now: sets its times and logs it; its tokens per
  /// second if `tokens` is not 0. Throws failure
  /// if its loss is not finite. If loss scaling skipped the step, it throws
  /// only after the scale has reached its minimum.
  /// `isLast` is whether the step is the last one of its epoch or of the run,
  /// and `dataMs` the time in it that was spent waiting for data.
  void add(StepMetrics metrics, bool endsEpoch = false, bool endsRun = false,
           double dataMs = 0, int64_t tokens = 0);
  /// The time between these two calls counts neither for a step nor for the
  /// epoch.
  void pause();
  void resume();

  /// Prints a line on the epoch, after its last step has been added.
  void endEpoch(int64_t epoch, int64_t totalSteps);
  /// Updates the progress line from time to time.
  void show(int64_t epoch, int64_t totalSteps);

  /// The steps that were added.
  int64_t getSteps() const { return stepsAdded; }
  int64_t getSkippedSteps() const { return skippedSteps; }
  bool wasLastSkipped() const { return lastSkipped; }

private:
  using Clock = std::chrono::steady_clock;

  /// Computes the metrics of samples with that mean loss.
  MetricList measure(const MetricSums &sums, double loss) const;
  void checkFinite(const StepMetrics &metrics);
  /// Returns what in the data of a step explains a loss that is not finite;
  /// empty for nothing.
  std::string explain(const StepMetrics &metrics) const;
  void checkData(int64_t number) const;
  std::string describeLeft(int64_t totalSteps, Clock::time_point now) const;
  std::string describe(int64_t epoch, int64_t totalSteps,
                       Clock::time_point now) const;

  Console &console;
  MetricsLog &log;
  const Watch *watch;
  Settings settings;
  StepStatistics statistics;
  DataCheck findProblem;

  /// The start of the run, of the current step and of the epoch, of a pause,
  /// and the time of the last progress line.
  Clock::time_point runStart, stepStart, epochStart, paused, lastShown;
  int64_t step = 0;
  /// The steps that were added in this run.
  int64_t stepsAdded = 0;
  double epochLoss = 0;
  MetricSums epochSums;
  /// The finite losses of the epoch, and the samples and number of all its
  /// steps.
  int64_t epochSteps = 0, epochSamples = 0, epochTaken = 0;
  int64_t skippedSteps = 0, skippedAtFloor = 0, skippedInARow = 0;
  bool lastSkipped = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_PROGRESS_H
