// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How training goes: takes in the metrics of the steps in their order, logs
// them, sums them up for people, and ends a run that cannot go on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_PROGRESS_H
#define INGOT_RUNTIME_OBSERVE_PROGRESS_H

#include "runtime/observe/MetricsLog.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace ingot::runtime {

class Console;
class Watch;

class Progress {
public:
  /// `watch` is null unless it saw the steps that come in. The clock starts.
  Progress(Console &console, MetricsLog &log, const Watch *watch,
           int64_t stepSamples);

  /// A step has ended now: sets its times and logs it. Throws failure if its
  /// loss is not finite, unless loss scaling skipped the step: then only if
  /// smaller scales do not help.
  void add(StepMetrics metrics);
  /// What comes between counts neither as a step's time nor as the epoch's.
  void pause();
  void resume();

  /// A line for the epoch's steps, with the last step added.
  void endEpoch(int64_t epoch, int64_t totalSteps);
  /// The progress line, at times, with the same.
  void show(int64_t epoch, int64_t totalSteps);

  int64_t getSkippedSteps() const { return skippedSteps; }
  bool wasLastSkipped() const { return lastSkipped; }

private:
  using Clock = std::chrono::steady_clock;

  void checkFinite(const StepMetrics &metrics);
  std::string describe(int64_t epoch, int64_t totalSteps,
                       Clock::time_point now) const;

  Console &console;
  MetricsLog &log;
  const Watch *watch;
  int64_t stepSamples;

  /// When the last step ended, or what came since.
  Clock::time_point stepStart, epochStart, paused, lastShown;
  int64_t step = 0;
  double epochLoss = 0;
  int64_t epochSteps = 0;
  int64_t skippedSteps = 0, skippedAtFloor = 0;
  bool lastSkipped = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_PROGRESS_H
