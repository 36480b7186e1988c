// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How long a run is, where it is, and the learning rate of its steps.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_RUNPLAN_H
#define INGOT_RUNTIME_TRAINER_RUN_RUNPLAN_H

#include "runtime/trainer/options/Options.h"
#include "runtime/trainer/run/RunContext.h"
#include "runtime/trainer/schedule/Plateau.h"
#include "runtime/trainer/schedule/Schedule.h"

#include <optional>

namespace ingot::runtime {

class Sampler;

class RunPlan {
public:
  /// `sampler` is null for a run without training data. A run that is only
  /// measured takes `measuredSteps` at most. One that `isEndless` has as many
  /// steps as its samples suffice for. Sets the steps of warm-up in
  /// `options` if they were given as a part of the run. Throws usageError.
  RunPlan(RunOptions &options, const RunStart &start, const Sampler *sampler,
          std::optional<int64_t> measuredSteps, bool isEndless = false);

  /// The steps that were taken, and those of the whole run.
  int64_t getStep() const { return step; }
  int64_t getTotal() const { return total; }
  int64_t getFirst() const { return first; }
  bool isOver() const { return step >= total; }
  /// Whether the number of steps is not known.
  bool isEndless() const { return endless; }
  /// Ends the run after the steps that were taken.
  void endHere() { total = step; }
  void endStep() { ++step; }

  /// The epoch of a step, from 1.
  int64_t getEpoch(int64_t number) const;
  /// Whether the step is the last one of an epoch or of the run.
  bool endsEpoch(int64_t number) const;

  /// Returns the factor of the learning rate in the step that follows
  /// `updates` updates of the model.
  double getRateFactor(int64_t updates) const;
  /// Whether the rate is the same whether or not the last `steps` steps before
  /// that many updates made one.
  bool isRateKnown(int64_t updates, int64_t steps) const;
  /// Returns the factor by which going back to checkpoints has reduced the
  /// learning rate.
  double getRateScale() const { return rateScale; }

  const Schedule &getSchedule() const { return schedule; }
  /// Lets the learning rate follow evaluations of a metric, of which less is
  /// better or not, from where `saved` was.
  void followMetric(const std::string &metric, bool wantsLess, double rate,
                    const RunSettings *saved);
  /// Null unless the learning rate follows evaluations.
  Plateau *getPlateau() { return plateau ? &*plateau : nullptr; }
  const Plateau *getPlateau() const { return plateau ? &*plateau : nullptr; }

  /// Goes on after an earlier step with half of the learning rate; `saved` is
  /// what its checkpoint says, or null.
  void goBack(int64_t to, const RunSettings *saved);

private:
  const Sampler *sampler;
  int64_t first, step, total = 0;
  Schedule schedule;
  std::optional<Plateau> plateau;
  double rateScale = 1;
  bool endless;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_RUNPLAN_H
