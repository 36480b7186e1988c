// SPDX-License-Identifier: Apache-2.0

// All 65,536 values of each half-precision type, and roundings of random floats
// against the reference conversions of DType.h.

#include "runtime/cpu/vectors/HalfPrecision.h"

#include "runtime/abi/Abi.h"
#include "runtime/core/DType.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace ingot::runtime;

namespace {

class HalfPrecisionTest : public testing::TestWithParam<int32_t> {
protected:
  DType getDType() const {
    return GetParam() == INGOT_F16 ? DType::F16 : DType::BF16;
  }
};

TEST_P(HalfPrecisionTest, WidensEveryValue) {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<uint16_t>(i);
  auto count = static_cast<int64_t>(all.size());
  std::vector<float> actual(all.size()), expected(all.size());
  widenToF32(all.data(), GetParam(), actual.data(), count);
  convert(all.data(), getDType(), expected.data(), DType::F32, count);
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(expected[i]))
      ASSERT_TRUE(std::isnan(actual[i])) << i;
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]),
                std::bit_cast<uint32_t>(expected[i]))
          << i;
  }
}

TEST_P(HalfPrecisionTest, RoundsToNearestEven) {
  std::mt19937 random(1);
  std::vector<float> values;
  for (int i = 0; i < 1000000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  // Every value between two neighbours: ties and both sides of them.
  for (uint32_t i = 0; i < (1u << 16); ++i)
    for (int32_t step : {-1, 0, 1}) {
      uint32_t tie = GetParam() == INGOT_F16 ? 0x38000000u + (i << 12)
                                             : (i << 16 | 0x8000u);
      values.push_back(std::bit_cast<float>(tie + step));
    }
  auto count = static_cast<int64_t>(values.size());
  std::vector<uint16_t> actual(values.size()), expected(values.size());
  roundFromF32(values.data(), actual.data(), GetParam(), count);
  convert(values.data(), DType::F32, expected.data(), getDType(), count);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i]))
      ASSERT_EQ(actual[i], expected[i]) << values[i];
    float back = 0;
    widenToF32(&actual[i], GetParam(), &back, 1);
    ASSERT_EQ(std::isnan(back), std::isnan(values[i])) << values[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Types, HalfPrecisionTest,
                         testing::Values(INGOT_BF16, INGOT_F16));

} // namespace
