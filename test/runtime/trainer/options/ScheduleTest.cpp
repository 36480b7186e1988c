// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Learning rate schedules.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options/Schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

using namespace ingot::runtime;

namespace {

TEST(Schedule, Constant) {
  Schedule schedule{{ScheduleKind::Constant}, 0, 10};
  for (int step = 1; step <= 10; ++step)
    EXPECT_EQ(schedule.getFactor(step), 1);
}

TEST(Schedule, WarmupReachesTheRateAtItsLastStep) {
  for (ScheduleKind kind :
       {ScheduleKind::Constant, ScheduleKind::Cosine, ScheduleKind::Linear}) {
    Schedule schedule{{kind}, 4, 10};
    EXPECT_DOUBLE_EQ(schedule.getFactor(1), 0.25);
    EXPECT_DOUBLE_EQ(schedule.getFactor(4), 1);
    EXPECT_DOUBLE_EQ(schedule.getFactor(5), 1);
  }
}

TEST(Schedule, LinearFallsToZeroAfterTheLastStep) {
  Schedule schedule{{ScheduleKind::Linear}, 0, 10};
  EXPECT_DOUBLE_EQ(schedule.getFactor(1), 1);
  EXPECT_DOUBLE_EQ(schedule.getFactor(6), 0.5);
  EXPECT_DOUBLE_EQ(schedule.getFactor(10), 0.1);
  EXPECT_DOUBLE_EQ(schedule.getFactor(11), 0);
  EXPECT_DOUBLE_EQ(schedule.getFactor(100), 0);
}

TEST(Schedule, CosineFallsToZeroAfterTheLastStep) {
  Schedule schedule{{ScheduleKind::Cosine}, 2, 10};
  EXPECT_DOUBLE_EQ(schedule.getFactor(7), 0.5);
  EXPECT_DOUBLE_EQ(schedule.getFactor(5),
                   0.5 * (1 + std::cos(std::numbers::pi / 4)));
  EXPECT_NEAR(schedule.getFactor(11), 0, 1e-15);
}

TEST(Schedule, WarmupLongerThanTheRun) {
  Schedule schedule{{ScheduleKind::Cosine}, 100, 10};
  for (int step = 1; step <= 10; ++step)
    EXPECT_DOUBLE_EQ(schedule.getFactor(step), step / 100.0);
}

} // namespace
