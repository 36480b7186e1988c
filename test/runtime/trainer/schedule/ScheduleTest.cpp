// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Learning rate schedules.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/schedule/Schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

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

TEST(Schedule, RestartsOfPeriodsThatGrowBeyondCounts) {
  Schedule schedule{ScheduleShape::parse("cosine-restarts:1:1000000"), 0, 10};
  EXPECT_DOUBLE_EQ(schedule.getFactor(2), 1);
  EXPECT_GT(schedule.getFactor(std::numeric_limits<int64_t>::max()), 0);
  EXPECT_EQ(ScheduleShape::parse("cosine-restarts:4").str(),
            "cosine-restarts:4:1");
}

TEST(Schedule, NamesAsOthersWriteThem) {
  EXPECT_EQ(ScheduleShape::parse("Cosine").str(), "cosine");
  EXPECT_EQ(ScheduleShape::parse("inverse_sqrt:8").str(), "inverse-sqrt:8");
}

TEST(Schedule, WordsThatAreNone) {
  for (const char *text :
       {"cosine-restarts", "cosine-restarts:0", "cosine-restarts:4:0.5",
        "cosine-restarts:4:2:1", "inverse-sqrt:0", "inverse-sqrt:x",
        "plateau:1", "plateau:0", "plateau:0.1:-1", "plateau:0.1:1.5"})
    EXPECT_THROW(ScheduleShape::parse(text), std::invalid_argument) << text;
}

} // namespace
