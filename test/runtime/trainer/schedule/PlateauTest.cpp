// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A learning rate that follows evaluations: factors of torch's
// ReduceLROnPlateau (2.15) with lr=0.08, for the same values.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/schedule/Plateau.h"

#include <gtest/gtest.h>

#include <limits>

using namespace ingot::runtime;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

void expectFactors(Plateau plateau, const std::vector<double> &values,
                   const std::vector<double> &factors) {
  ASSERT_EQ(values.size(), factors.size());
  double before = 1;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(plateau.add(values[i]), factors[i] != before) << i;
    EXPECT_DOUBLE_EQ(plateau.getFactor(), factors[i]) << i;
    before = factors[i];
  }
}

TEST(Plateau, LessIsBetter) {
  // ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=1)
  expectFactors(
      {ScheduleShape::parse("plateau:0.5:1"), "eval_loss", true, 0.08, 0},
      {1.0, 0.9, 0.90, 0.8999, 0.89991, 0.5, 0.6, kNan, kInfinity, 0.5, 0.49996,
       0.4, 0.4, 0.4},
      {1, 1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125});
}

TEST(Plateau, MoreIsBetterAndTheRateHasAFloor) {
  // ReduceLROnPlateau(optimizer, "max", factor=0.1, patience=0, min_lr=0.002)
  expectFactors({ScheduleShape::parse("plateau:0.1:0"), "eval_accuracy", false,
                 0.08, 0.002 / 0.08},
                {0.1, 0.2, 0.2, 0.20001, 0.3, 0.1, 0.1, 0.1},
                {1, 1, 0.1, 0.025, 0.025, 0.025, 0.025, 0.025});
}

TEST(Plateau, GoesOnFromItsState) {
  Plateau whole(ScheduleShape::parse("plateau:0.5:1"), "eval_loss", true, 1, 0);
  for (double value : {1.0, 2.0})
    EXPECT_FALSE(whole.add(value));
  Plateau other(ScheduleShape::parse("plateau:0.5:1"), "eval_loss", true, 1, 0);
  other.resume(whole.getState());
  EXPECT_TRUE(other.add(2));
  // The values of another metric say nothing.
  Plateau fresh(ScheduleShape::parse("plateau"), "eval_f1", false, 1, 0);
  fresh.resume(whole.getState());
  EXPECT_FALSE(fresh.getState().best.has_value());
}

} // namespace
