// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Conversions between element types.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/DType.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace ingot::runtime;

namespace {

template <typename To, typename From>
To convertTo(From value, DType from, DType to) {
  To result;
  convert(&value, from, &result, to, 1);
  return result;
}

TEST(DType, NamesRoundTrip) {
  for (DType type : {DType::F64, DType::F32, DType::F16, DType::BF16,
                     DType::I64, DType::I32, DType::I8, DType::U8, DType::Bool,
                     DType::I16, DType::U16, DType::U32, DType::U64}) {
    EXPECT_EQ(parseName<DType>(getName(type)), type);
    EXPECT_EQ(parseSafeTensorsDType(getSafeTensorsName(type)), type);
  }
  EXPECT_FALSE(parseName<DType>("float"));
}

TEST(DType, EveryHalfRoundTrips) {
  for (DType type : {DType::F16, DType::BF16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      float value =
          convertTo<float>(static_cast<uint16_t>(bits), type, DType::F32);
      if (!std::isnan(value))
        ASSERT_EQ(convertTo<uint16_t>(value, DType::F32, type), bits);
    }
}

TEST(DType, HalfRoundsToNearestEven) {
  // Between each pair of neighbours: below, at and above the middle.
  for (DType type : {DType::F16, DType::BF16}) {
    uint16_t infinity = type == DType::F16 ? 0x7c00 : 0x7f80;
    for (uint16_t bits = 0; bits + 1 < infinity; ++bits) {
      double low = convertTo<double>(bits, type, DType::F64);
      double high =
          convertTo<double>(static_cast<uint16_t>(bits + 1), type, DType::F64);
      double middle = (low + high) / 2;
      auto round = [&](double value) {
        return convertTo<uint16_t>(value, DType::F64, type);
      };
      ASSERT_EQ(round(std::nextafter(middle, 0.0)), bits);
      ASSERT_EQ(round(middle), bits + (bits & 1));
      ASSERT_EQ(round(std::nextafter(middle, 1e300)), bits + 1);
    }
  }
}

TEST(DType, HalfOverflowsAndKeepsNan) {
  EXPECT_EQ(convertTo<uint16_t>(65519.0f, DType::F32, DType::F16), 0x7bff);
  EXPECT_EQ(convertTo<uint16_t>(65520.0f, DType::F32, DType::F16), 0x7c00);
  EXPECT_EQ(convertTo<uint16_t>(-1e10, DType::F64, DType::F16), 0xfc00);
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (DType type : {DType::F16, DType::BF16})
    EXPECT_TRUE(std::isnan(convertTo<float>(
        convertTo<uint16_t>(nan, DType::F32, type), type, DType::F32)));
}

TEST(DType, IntegersAndBooleans) {
  EXPECT_EQ(convertTo<int64_t>(uint8_t(200), DType::U8, DType::I64), 200);
  EXPECT_EQ(convertTo<int64_t>(int8_t(-3), DType::I8, DType::I64), -3);
  EXPECT_EQ(convertTo<float>(uint8_t(7), DType::Bool, DType::F32), 1.0f);
  EXPECT_EQ(convertTo<uint8_t>(uint8_t(7), DType::U8, DType::Bool), 1);
}

TEST(DType, WhatFeedsWhat) {
  EXPECT_TRUE(canConvert(DType::F64, DType::F32));
  EXPECT_TRUE(canConvert(DType::U8, DType::F32));
  EXPECT_TRUE(canConvert(DType::I32, DType::I64));
  EXPECT_FALSE(canConvert(DType::F32, DType::I64));
  EXPECT_FALSE(canConvert(DType::F32, DType::Bool));
}

TEST(DType, RangeOfIntegers) {
  int64_t values[] = {0, 127, 128, -1};
  int64_t at = -1;
  EXPECT_FALSE(fitsIn(values, DType::I64, DType::I8, 4, at));
  EXPECT_EQ(at, 2);
  EXPECT_FALSE(fitsIn(values, DType::I64, DType::U64, 4, at));
  EXPECT_EQ(at, 3);
  EXPECT_TRUE(fitsIn(values, DType::I64, DType::I32, 4, at));
}

} // namespace
