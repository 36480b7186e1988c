// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/quantize/Ranges.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace ingot::runtime;

static std::vector<float> makeValues() {
  std::vector<float> values;
  for (int i = -1000; i <= 3000; ++i)
    values.push_back(static_cast<float>(i) / 1000.0f);
  return values;
}

TEST(Ranges, HaveZero) {
  ValueRange range;
  std::vector<float> values = {2, 3};
  range.add(values.data(), 2);
  EXPECT_EQ(range.low, 0);
  EXPECT_EQ(range.high, 3);
}

TEST(Ranges, LeaveOutTheOutermost) {
  std::vector<float> values = makeValues();
  values.push_back(100);
  ValueRange range;
  range.add(values.data(), static_cast<int64_t>(values.size()));
  RangeHistogram histogram(range);
  histogram.add(values.data(), static_cast<int64_t>(values.size()));
  ValueRange cut = histogram.cut(1e-3);
  EXPECT_LT(cut.high, 3.2);
  EXPECT_GT(cut.high, 2.8);
  EXPECT_LE(cut.low, 0);
  EXPECT_EQ(histogram.cut(0).high, 100);
}

TEST(Ranges, ClipWhereRoundingWouldCostMore) {
  std::vector<float> values = makeValues();
  values.push_back(6);
  ValueRange range;
  range.add(values.data(), static_cast<int64_t>(values.size()));
  RangeHistogram histogram(range);
  histogram.add(values.data(), static_cast<int64_t>(values.size()));
  // With few steps the one value is clipped more than with many. Both ends are
  // cut by the same share, of which the lower one has many values.
  EXPECT_LT(histogram.findLeastError(15).high, 5);
  EXPECT_GT(histogram.findLeastError(255).high,
            histogram.findLeastError(15).high);
}

TEST(Ranges, ScaleOfASymmetricRange) {
  std::vector<float> values = {7, -3, 1, 0};
  EXPECT_FLOAT_EQ(static_cast<float>(findLeastErrorScale(values.data(), 4, 7)),
                  1.0f);
  std::vector<float> none = {0, 0};
  EXPECT_EQ(findLeastErrorScale(none.data(), 2, 7), 0);
}
