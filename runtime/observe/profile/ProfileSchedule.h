// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which steps of a run are profiled.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_PROFILE_PROFILESCHEDULE_H
#define INGOT_RUNTIME_OBSERVE_PROFILE_PROFILESCHEDULE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::runtime {

/// After `wait` steps, `warmup` steps are profiled and forgotten, and `active`
/// steps are kept; all of that `repeat` times.
struct ProfileSchedule {
  int64_t wait = 0, warmup = 0;
  /// None for all steps that are left.
  std::optional<int64_t> active;
  int64_t repeat = 1;

  enum class Phase { Off, Warmup, Active };
  /// The phase of a step, counted from 0.
  Phase getPhase(int64_t step) const;

  /// Parses WAIT:WARMUP:ACTIVE or WAIT:WARMUP:ACTIVE:REPEAT; nothing if the
  /// text is neither.
  static std::optional<ProfileSchedule> parse(std::string_view text);
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_PROFILE_PROFILESCHEDULE_H
