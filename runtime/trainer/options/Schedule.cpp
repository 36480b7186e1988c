// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the learning rate changes over a run.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace ingot::runtime;

double Schedule::getFactor(int64_t step) const {
  if (step <= warmup)
    return static_cast<double>(step) / static_cast<double>(warmup);
  double length = static_cast<double>(std::max<int64_t>(total - warmup, 1));
  double progress =
      std::min(static_cast<double>(step - 1 - warmup) / length, 1.0);
  switch (kind) {
  case ScheduleKind::Constant:
    return 1;
  case ScheduleKind::Cosine:
    return 0.5 * (1 + std::cos(std::numbers::pi * progress));
  case ScheduleKind::Linear:
    return 1 - progress;
  }
  return 1;
}
