// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which evaluation is the best one.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/evaluate/BestEvaluation.h"

#include <gtest/gtest.h>

#include <limits>

using namespace ingot::runtime;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

MetricList makeMetrics(double loss, double accuracy) {
  return {{"eval_loss", loss}, {"eval_accuracy", accuracy}};
}

TEST(BestEvaluation, IsFinite) {
  BestEvaluation best("eval_loss", {"eval_loss", "eval_accuracy"});
  // A checkpoint has no number for infinity.
  EXPECT_FALSE(best.add(1, makeMetrics(kInfinity, 1)));
  EXPECT_FALSE(best.add(2, makeMetrics(kNan, 1)));
  EXPECT_EQ(best.get().step, 0);
  EXPECT_EQ(best.get().since, 2);
  EXPECT_TRUE(best.add(3, makeMetrics(2, 0)));
  EXPECT_FALSE(best.add(4, makeMetrics(-kInfinity, 1)));
  EXPECT_EQ(best.get().value, 2);
}

TEST(BestEvaluation, ALossThatIsNotFiniteHasNoOtherMetrics) {
  BestEvaluation best("accuracy", {"eval_loss", "eval_accuracy"});
  EXPECT_FALSE(best.add(1, makeMetrics(kInfinity, 0.5)));
  EXPECT_TRUE(best.add(2, makeMetrics(1, 0.25)));
  EXPECT_TRUE(best.add(3, makeMetrics(3, 0.5)));
}

TEST(BestEvaluation, LeastIsForPatienceAlone) {
  BestEvaluation best("eval_loss", {"eval_loss"}, /*least=*/0.5);
  EXPECT_TRUE(best.add(1, {{"eval_loss", 2}}));
  EXPECT_TRUE(best.add(2, {{"eval_loss", 1.75}}));
  EXPECT_EQ(best.get().since, 1);
  EXPECT_TRUE(best.add(3, {{"eval_loss", 1.25}}));
  EXPECT_EQ(best.get().since, 0);
}

} // namespace
