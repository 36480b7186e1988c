// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The length of a run and the learning rates of its steps.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/run/RunPlan.h"

#include "runtime/core/Error.h"
#include "runtime/data/Sampler.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

/// Epochs of 5 steps: 21 samples in batches of 4.
struct Fixture {
  RunOptions options;
  RunStart start;
  Sampler sampler{{SampleGroup{21, 4}}, /*shuffle=*/false, 0};

  RunPlan plan(std::optional<int64_t> measured = std::nullopt) {
    return RunPlan(options, start, &sampler, measured);
  }
};

TEST(RunPlan, LengthComesFromEpochsStepsOrTheMeasurement) {
  Fixture f;
  EXPECT_EQ(f.plan().getTotal(), 5);
  f.options.epochs = 3;
  EXPECT_EQ(f.plan().getTotal(), 15);
  f.options.steps = 7;
  EXPECT_EQ(f.plan().getTotal(), 7);
  f.start.step = 4;
  EXPECT_EQ(f.plan().getTotal(), 7);
  EXPECT_EQ(f.plan(/*measured=*/10).getTotal(), 14);
  EXPECT_EQ(f.plan().getStep(), 4);
  EXPECT_EQ(f.plan().getFirst(), 4);
}

TEST(RunPlan, EpochsEndWithTheirLastStepAndWithTheRun) {
  Fixture f;
  f.options.steps = 7;
  RunPlan plan = f.plan();
  std::vector<int64_t> ends;
  for (int64_t number = 1; number <= 7; ++number)
    if (plan.endsEpoch(number))
      ends.push_back(number);
  EXPECT_EQ(ends, (std::vector<int64_t>{5, 7}));
  EXPECT_EQ(plan.getEpoch(5), 1);
  EXPECT_EQ(plan.getEpoch(6), 2);
}

TEST(RunPlan, WarmupMayBeAPartOfTheRun) {
  Fixture f;
  f.options.steps = 40;
  f.options.warmupPart = 0.1;
  RunPlan plan = f.plan();
  EXPECT_EQ(f.options.warmup, 4);
  EXPECT_DOUBLE_EQ(plan.getRateFactor(/*updates=*/0), 0.25);
  EXPECT_DOUBLE_EQ(plan.getRateFactor(3), 1);
  // Steps that may yet be skipped matter until the warm-up is over.
  EXPECT_FALSE(plan.isRateKnown(/*updates=*/4, /*steps=*/1));
  EXPECT_TRUE(plan.isRateKnown(5, 1));
}

TEST(RunPlan, GoingBackHalvesTheRate) {
  Fixture f;
  f.options.steps = 10;
  RunPlan plan = f.plan();
  for (int i = 0; i < 6; ++i)
    plan.endStep();
  plan.goBack(2, nullptr);
  EXPECT_EQ(plan.getStep(), 2);
  EXPECT_DOUBLE_EQ(plan.getRateFactor(2), 0.5);
  plan.goBack(2, nullptr);
  EXPECT_DOUBLE_EQ(plan.getRateScale(), 0.25);
  EXPECT_FALSE(plan.isOver());
}

TEST(RunPlan, AResumedRunInheritsItsScale) {
  Fixture f;
  f.options.steps = 10;
  f.start.settings.emplace();
  f.start.settings->rateScale = 0.125;
  EXPECT_DOUBLE_EQ(f.plan().getRateFactor(0), 0.125);
}

TEST(RunPlan, TheLowestRateIsNotAboveTheRate) {
  Fixture f;
  f.options.hyperparameters["lr"] = 0.1;
  f.options.minLr = 0.2;
  EXPECT_THROW(f.plan(), Error);
  f.options.minLr = 0.05;
  EXPECT_DOUBLE_EQ(f.plan().getSchedule().least, 0.5);
}

} // namespace
