// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --diagnose: measures some steps of a run, and tries what is advised.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_DIAGNOSER_H
#define INGOT_RUNTIME_TRAINER_HOOKS_DIAGNOSER_H

#include "runtime/core/machine/ProcessorUse.h"
#include "runtime/data/loading/BatchQueue.h"
#include "runtime/observe/diagnose/Diagnosis.h"
#include "runtime/observe/profile/Profile.h"
#include "runtime/trainer/hooks/HookSeams.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

#include <chrono>
#include <string>
#include <vector>

namespace ingot::runtime {

class Diagnoser : public StepHook {
public:
  Diagnoser(const RunContext &context, const HookSeams &seams);

  /// The steps of a diagnosis; the first ones, in which caches fill and threads
  /// start, are not measured.
  static constexpr int64_t kWarmup = 5, kSteps = 45;
  /// The steps of a trial. In the first, batches are taken that were made
  /// before it, or begun together: as many as there are threads, 16 at most.
  /// Threads that share a slow disk end together, too; most numbers of threads
  /// divide the steps that are measured.
  static constexpr int64_t kSettle = 16, kTried = 48,
                           kMost = kSteps + kSettle + kTried;
  /// The steps whose batches may be made ahead (--prefetch). Without them the
  /// last steps of a trial would have less to wait for.
  static constexpr int64_t kAhead = 1024;

  bool needsEachStep() const override { return true; }
  void startStep(int64_t) override { profiler.startStep(); }
  void addWait(const TimeSpan &wait) override { profiler.addData(wait); }
  void addResults(const StepResults &results) override;
  void endStep(int64_t number, double rate) override;
  void addSaving(double milliseconds) override { savingNow += milliseconds; }
  bool isDone() const override;
  /// Collects what was measured, and removes the checkpoints.
  void finish() override;
  /// Prints what limits the run and, if that is asked for, tries to change it.
  void report(const Print &print) override;

private:
  /// When all steps of the diagnosis are over and they wait for data: begins to
  /// measure how long they take with more threads that make batches, and
  /// returns how many.
  std::optional<int64_t> startTrial() const;
  Evidence measure(const Profile &profile);
  /// The system's counts since it started.
  struct Counters {
    double majorFaults = 0, memoryStallMs = 0;
    ProcessorUse processors;
    std::chrono::steady_clock::time_point time;
  };
  static Counters readCounters();
  void addKernels(const Profile &profile, Evidence &evidence) const;
  void addLink(const Profile &profile, Evidence &evidence) const;
  bool isMeasuring() const { return steps >= kWarmup && triedWorkers == 0; }
  /// Returns the evidence of the steps before they are profiled.
  Evidence summarizeData() const;

  RunContext context;
  HookSeams seams;
  Profiler profiler;
  Evidence evidence;
  int64_t steps = 0;
  std::chrono::steady_clock::time_point begin;
  Counters first;
  std::optional<Counters> last;
  double decode = 0, processor = 0, saving = 0, waits = 0;
  std::optional<double> delay;
  /// Time of saving since the last step.
  double savingNow = 0;
  int64_t workers = 0, triedWorkers = 0;
  std::chrono::steady_clock::time_point tried;
  /// The time of the steps of a trial, and of their saves.
  double triedMs = 0, triedSaving = 0;
};

/// The diagnosis as a line of JSON.
std::string describeAsJson(const Evidence &evidence,
                           const std::vector<Finding> &findings);

/// Runs the trainer once more with what the first finding with an option of the
/// trainer advises, and says what came of it. `arguments` are those of this
/// process. Throws failure.
std::string applyDiagnosis(const Evidence &evidence,
                           const std::vector<Finding> &findings,
                           const std::vector<std::string> &arguments);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_DIAGNOSER_H
