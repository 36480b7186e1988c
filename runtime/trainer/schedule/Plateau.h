// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A learning rate that falls where evaluations stop to improve.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SCHEDULE_PLATEAU_H
#define INGOT_RUNTIME_TRAINER_SCHEDULE_PLATEAU_H

#include "runtime/checkpoint/CheckpointInfo.h"
#include "runtime/trainer/schedule/Schedule.h"

namespace ingot::runtime {

/// The rates of torch's ReduceLROnPlateau with its defaults: an evaluation is
/// better than the best before it by a ten-thousandth of that at least.
class Plateau {
public:
  /// Follows a metric. `rate` is the learning rate before any fall, `least` the
  /// factor below which it does not fall.
  Plateau(const ScheduleShape &shape, const std::string &metric, bool wantsLess,
          double rate, double least)
      : shape(shape), wantsLess(wantsLess), rate(rate), least(least) {
    state.metric = metric;
  }

  /// Continues where a checkpoint's run was, if it followed the same metric.
  void resume(const RunSettings::Plateau &saved);
  /// Takes an evaluation's value; returns whether the rate falls. A value that
  /// is not a number is never better.
  bool add(double value);

  /// Returns what the rate is multiplied by.
  double getFactor() const { return state.factor; }
  const RunSettings::Plateau &getState() const { return state; }

private:
  ScheduleShape shape;
  bool wantsLess;
  double rate, least;
  RunSettings::Plateau state;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SCHEDULE_PLATEAU_H
