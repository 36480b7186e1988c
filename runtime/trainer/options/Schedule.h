// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the learning rate changes over a run.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_SCHEDULE_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_SCHEDULE_H

#include <cstdint>

namespace ingot::runtime {

enum class ScheduleKind { Constant, Cosine, Linear };

struct Schedule {
  ScheduleKind kind = ScheduleKind::Constant;
  /// Steps that grow linearly to the full rate, which step `warmup` has.
  int64_t warmup = 0;
  /// Steps of the whole run; the step after the last would have rate zero.
  int64_t total = 0;

  /// What step `step` (from 1) multiplies the learning rate by.
  double getFactor(int64_t step) const;
  /// Whether that is the same for all steps from `step` on.
  bool isConstantFrom(int64_t step) const {
    return kind == ScheduleKind::Constant && step > warmup;
  }
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_SCHEDULE_H
