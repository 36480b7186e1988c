// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the learning rate changes over a run.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_SCHEDULE_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_SCHEDULE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::runtime {

enum class ScheduleKind { Constant, Cosine, Linear };

/// The names of the kinds, in their order.
inline constexpr const char *kScheduleNames[] = {"constant", "cosine",
                                                 "linear"};

/// Returns the name of a kind, as --schedule takes it.
inline const char *getName(ScheduleKind kind) {
  return kScheduleNames[static_cast<int>(kind)];
}

/// Returns the kind of that name, if there is one.
inline std::optional<ScheduleKind> findSchedule(std::string_view name) {
  for (int i = 0; i < 3; ++i)
    if (name == kScheduleNames[i])
      return static_cast<ScheduleKind>(i);
  return std::nullopt;
}

struct Schedule {
  ScheduleKind kind = ScheduleKind::Constant;
  /// The number of steps over which the rate grows linearly to the full rate.
  int64_t warmup = 0;
  /// The number of steps of the whole run; the step after it would have rate
  /// zero.
  int64_t total = 0;

  /// Returns the factor of the learning rate in step `step`, counted from 1.
  double getFactor(int64_t step) const;
  /// Whether the factor is the same for all steps from `step` on.
  bool isConstantFrom(int64_t step) const {
    return kind == ScheduleKind::Constant && step > warmup;
  }
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_SCHEDULE_H
