// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Encoding.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace ingot::runtime;

namespace {
constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

std::vector<float> draw(int64_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = (static_cast<float>(engine() % 2001) - 1000) / 7;
  return values;
}

/// Returns the sum that ranks with these values receive.
std::vector<float> addUp(const Encoding &encoding,
                         const std::vector<std::vector<float>> &ranks) {
  int64_t bytes = encoding.getPayloadBytes();
  std::vector<char> messages(bytes * ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i)
    encoding.encode(ranks[i].data(), messages.data() + i * bytes);
  std::vector<float> sum(ranks.front().size(), 77);
  encoding.decode(messages.data(), static_cast<int64_t>(ranks.size()),
                  sum.data());
  return sum;
}

std::vector<float> approximate(const Encoding &encoding,
                               const std::vector<float> &values) {
  std::vector<float> result(values.size(), 77);
  encoding.approximate(values.data(), result.data());
  return result;
}
} // namespace

TEST(Encoding, SumsAreThoseOfWhatWasApproximated) {
  for (int64_t count : {1, 255, 256, 257, 5000, 200000})
    for (int32_t code : {INGOT_INT8, INGOT_TOPK}) {
      Encoding encoding(code, count, code == INGOT_TOPK ? (count + 9) / 10 : 0);
      std::vector<std::vector<float>> ranks;
      std::vector<float> expected(count);
      for (uint32_t rank = 0; rank < 3; ++rank) {
        ranks.push_back(approximate(encoding, draw(count, rank)));
        for (int64_t i = 0; i < count; ++i)
          expected[i] += ranks.back()[i];
      }
      std::vector<float> sum = addUp(encoding, ranks);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_NEAR(sum[i], expected[i], 1e-4) << i << " of " << count;
    }
}

TEST(Encoding, Int8IsWithinHalfAStep) {
  std::vector<float> values = draw(1000, 5);
  values[300] = 1e6;
  std::vector<float> result =
      approximate(Encoding(INGOT_INT8, 1000, 0), values);
  for (int64_t block = 0; block < 1000; block += 256) {
    int64_t end = std::min<int64_t>(block + 256, 1000);
    float largest = 0;
    for (int64_t i = block; i < end; ++i)
      largest = std::max(largest, std::fabs(values[i]));
    for (int64_t i = block; i < end; ++i)
      EXPECT_LE(std::fabs(result[i] - values[i]), largest / 127 * 0.501f);
  }
}

TEST(Encoding, MessagesHaveTheBytesOfTheirFormat) {
  EXPECT_EQ(Encoding(INGOT_INT8, 256 * 10, 0).getPayloadBytes(), 260 * 10);
  EXPECT_EQ(Encoding(INGOT_INT8, 257, 0).getPayloadBytes(), 260 * 2);
  EXPECT_EQ(Encoding(INGOT_TOPK, 100000, 100).getPayloadBytes(), 800);
}

TEST(Encoding, TopKKeepsTheLargestWithTheirSigns) {
  std::vector<float> values = {1, -5, 2, 5, -2, 0, 5, -4};
  Encoding encoding(INGOT_TOPK, 8, 3);
  // Of three of one magnitude the first two would do for kept = 2.
  EXPECT_EQ(approximate(encoding, values),
            (std::vector<float>{0, -5, 0, 5, 0, 0, 5, 0}));
  EXPECT_EQ(approximate(Encoding(INGOT_TOPK, 8, 2), values),
            (std::vector<float>{0, -5, 0, 5, 0, 0, 0, 0}));
  EXPECT_EQ(approximate(Encoding(INGOT_TOPK, 8, 8), values), values);
  // Fewer than `kept` are not zero.
  std::vector<float> few = {0, 3, 0, 0};
  Encoding three(INGOT_TOPK, 4, 3);
  EXPECT_EQ(addUp(three, {approximate(three, few)}), few);
}

TEST(Encoding, WhatIsNotFiniteIsSeen) {
  for (float bad : {kInf, -kInf, kNan})
    for (int32_t code : {INGOT_INT8, INGOT_TOPK}) {
      Encoding encoding(code, 600, code == INGOT_TOPK ? 6 : 0);
      std::vector<float> values = draw(600, 1);
      values[100] = bad;
      std::vector<float> sum =
          addUp(encoding, {approximate(encoding, values),
                           approximate(encoding, draw(600, 2))});
      EXPECT_FALSE(std::isfinite(sum[100])) << bad;
      EXPECT_TRUE(std::isfinite(sum[400]));
    }
}

TEST(Encoding, NothingDividesByWhatIsTooSmall) {
  std::vector<float> values(300, 1e-40f);
  values[0] = 0;
  for (float value : approximate(Encoding(INGOT_INT8, 300, 0), values))
    EXPECT_EQ(value, 0);
}
