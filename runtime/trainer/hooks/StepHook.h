// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The interface of everything that looks at the steps of a run, or adds work to
// them: profiles, watches, diagnoses, averages. The loop knows none of them;
// Hooks.h makes the list that a run has.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_STEPHOOK_H
#define INGOT_RUNTIME_TRAINER_HOOKS_STEPHOOK_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct ingot_observer;

namespace ingot::runtime {

struct FunctionSpec;
struct QueueTimes;
struct StepMetrics;
struct TimeSpan;
class Watch;

/// A step whose results have been read.
struct StepResults {
  const StepMetrics &metrics;
  /// The cost of its batches, and the milliseconds that it waited for them.
  const QueueTimes &data;
  double waitedMs;
};

class StepHook {
public:
  virtual ~StepHook() = default;

  /// Whether the results of a step have to be read before the next one starts.
  virtual bool needsEachStep() const { return false; }
  /// Whether startStep and endStep look at the states of that step. All ranks
  /// answer alike: they complete their states, and the clock stands still.
  virtual bool inspects(int64_t) const { return false; }
  /// Returns the watch that explains steps that are not finite; null if this is
  /// none.
  virtual const Watch *getWatch() const { return nullptr; }

  /// Called before a step asks for its data.
  virtual void startStep(int64_t) {}
  /// Returns what is told of the kernels of that step; null for nothing.
  virtual ingot_observer *getObserver(int64_t) { return nullptr; }
  /// Called when the step has a batch that it waited for.
  virtual void addWait(const TimeSpan &) {}
  /// Called before a function runs, when its inputs are in place.
  virtual void startFunction(const FunctionSpec &) {}
  /// Called when the functions of the step have run, or were started on a
  /// device with queues. Throws Error to end the run.
  virtual void checkStep() {}
  /// Adds what it knows to the results of a step, before others have them.
  virtual void addMetrics(StepMetrics &) {}
  /// Called with the results of steps in order. What is thrown for a step that
  /// is not finite comes after it.
  virtual void addResults(const StepResults &) {}
  /// Called after checkStep, when as many earlier steps have been read as may
  /// not stay in flight. `rate` is the learning rate of the step as a part of
  /// the run's.
  virtual void endStep(int64_t, double /*rate*/) {}
  /// Called when a checkpoint was taken between two steps.
  virtual void addSaving(double /*milliseconds*/) {}

  /// Whether the run ends after this step.
  virtual bool isDone() const { return false; }
  /// Called after the last step. All ranks call it.
  virtual void finish() {}

  /// Writes for the user what was found, once the run has ended well. `print`
  /// takes text for standard output.
  using Print = std::function<void(const std::string &)>;
  virtual void report(const Print &) {}
};

using StepHooks = std::vector<std::unique_ptr<StepHook>>;

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_STEPHOOK_H
