// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Encodings: codes against those of bitsandbytes, which goldens.inc has
// (test/runtime/quantization/goldens.py), and what is decoded.
//
//===----------------------------------------------------------------------===//

#include "runtime/quantization/BlockCodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace ingot::quantization;

namespace {

#include "test/runtime/quantization/goldens.inc"

/// The numbers that were encoded: of a generator that any language has.
std::vector<float> makeNumbers(size_t count) {
  std::vector<float> numbers(count);
  uint32_t state = 1;
  for (float &number : numbers) {
    int32_t sum = 0;
    for (int i = 0; i < 4; ++i) {
      state = state * 1664525 + 1013904223;
      sum += static_cast<int32_t>(state >> 16) - 32768;
    }
    number = static_cast<float>(sum) / 65536;
  }
  return numbers;
}

std::vector<float> decode(const Encoding &encoding, const Encoded &encoded,
                          int64_t elements) {
  Decoder decoder(
      encoding,
      {encoded.codes.data(), encoded.scales.data(), encoded.nested.data()},
      elements);
  std::vector<float> numbers(elements);
  decoder.decode(0, elements, numbers.data());
  return numbers;
}

TEST(Quantization, EqualsBitsandbytes) {
  for (const Golden &golden : kGoldens) {
    SCOPED_TRACE(golden.kind);
    std::vector<float> numbers = makeNumbers(golden.elements);
    Encoding encoding = {golden.kind, 64, golden.isDouble};
    Encoded encoded = encode(encoding, numbers.data(), golden.elements);
    ASSERT_EQ(encoded.codes, golden.codes);
    if (golden.isDouble) {
      // Its table of the codes of scales is only almost the nearest.
      size_t differing = 0;
      for (size_t i = 0; i < golden.scales.size(); ++i)
        differing += encoded.scales[i] != golden.scales[i];
      EXPECT_LE(differing, 1u);
      EXPECT_NEAR(encoded.nested.back(), golden.mean, 1e-7);
    }
    std::vector<float> decoded = decode(encoding, encoded, golden.elements);
    uint64_t sum = 0;
    if (!golden.isDouble) {
      for (float number : decoded) {
        uint32_t bits;
        std::memcpy(&bits, &number, sizeof(bits));
        sum = sum * 31 + bits;
      }
      EXPECT_EQ(sum, golden.bits);
    }
  }
}

TEST(Quantization, NumbersOfScalesAreThoseOfBitsandbytes) {
  for (size_t i = 0; i < 256; ++i)
    EXPECT_EQ(getScaleNumbers()[i], kScaleNumbers[i]) << i;
}

TEST(Quantization, DynamicNumbersAreThoseOfBitsandbytes) {
  for (bool isSigned : {false, true})
    for (size_t i = 0; i < 256; ++i)
      EXPECT_EQ(DynamicCode(isSigned).numbers[i],
                (isSigned ? kScaleNumbers : kUnsignedNumbers)[i])
          << i;
}

/// Finds a code by the tables, as kernels do.
int findByCell(const DynamicCode &code, float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const int first = ((127 - DynamicCode::kExponents) << 23) >> code.getShift();
  int cell = static_cast<int>((bits & 0x7fffffff) >> code.getShift()) - first;
  cell = std::clamp(cell, 0, code.getCellsOfSign());
  if (bits >> 31)
    cell = code.isSigned ? std::min(cell, code.getCellsOfSign() - 1) +
                               code.getCellsOfSign() + 1
                         : 0;
  const int least = code.cells[cell];
  return least + (number > code.middles[least] ? 1 : 0);
}

TEST(Quantization, CellsFindTheNearestNumber) {
  for (bool isSigned : {false, true}) {
    const DynamicCode code(isSigned);
    auto check = [&](float number) {
      ASSERT_EQ(findByCell(code, number), code.find(number)) << number;
      ASSERT_EQ(findByCell(code, -number), code.find(-number)) << number;
    };
    // Numbers around each bound of a cell, each middle, and each number.
    for (uint32_t bits = 0; bits <= 0x3f800000; bits += 1 << 15)
      for (int32_t next : {-1, 0, 1})
        if (bits > 0 || next >= 0)
          check(std::min(std::bit_cast<float>(bits + next), 1.0F));
    for (size_t i = 0; i < 255; ++i)
      for (float number : {code.middles[i], code.numbers[i]})
        for (float bound : {-1.0F, 1.0F}) {
          check(std::fabs(number));
          check(std::fabs(std::nextafter(number, bound)));
        }
  }
}

TEST(Quantization, DynamicCodesInBlocks) {
  constexpr int64_t count = 600, block = 256;
  std::vector<float> numbers = makeNumbers(count);
  for (bool hasSign : {false, true}) {
    if (!hasSign)
      for (float &number : numbers)
        number *= number;
    Encoding encoding = Encoding::ofDynamic(hasSign, block);
    Encoded encoded = encode(encoding, numbers.data(), count);
    ASSERT_EQ(encoded.codes.size(), count);
    std::vector<float> decoded = decode(encoding, encoded, count);
    for (int64_t i = 0; i < count; i += block) {
      float most = 0;
      for (int64_t k = i; k < std::min(count, i + block); ++k)
        most = std::max(most, std::fabs(numbers[k]));
      // The largest decade has 64 intervals of a sign, or 128.
      for (int64_t k = i; k < std::min(count, i + block); ++k)
        EXPECT_LE(std::fabs(decoded[k] - numbers[k]), most * 0.0071F) << k;
    }
    // Of zeros the scale is 1, as in bitsandbytes.
    std::vector<float> zeros(block, 0);
    encoded = encode(encoding, zeros.data(), block);
    float scale;
    std::memcpy(&scale, encoded.scales.data(), sizeof(scale));
    EXPECT_EQ(scale, 1);
    for (float number : decode(encoding, encoded, block))
      EXPECT_EQ(number, 0);
    numbers = makeNumbers(count);
  }
}

TEST(Quantization, TakesTheNearestInteger) {
  constexpr int64_t count = 1000;
  std::vector<float> numbers = makeNumbers(count);
  for (ingot_encoding kind : {INGOT_CODE_INT4, INGOT_CODE_INT8}) {
    Encoding encoding = {kind, 32, false};
    Encoded encoded = encode(encoding, numbers.data(), count);
    std::vector<float> decoded = decode(encoding, encoded, count);
    const auto *scales = reinterpret_cast<const float *>(encoded.scales.data());
    for (int64_t i = 0; i < count; ++i) {
      float step = std::fabs(scales[i / 32]);
      // The opposite of -8 is cut off.
      float most = kind == INGOT_CODE_INT4 ? 1.001F : 0.501F;
      EXPECT_LE(std::fabs(decoded[i] - numbers[i]), step * most) << i;
    }
  }
}

TEST(Quantization, BlocksOfZeros) {
  std::vector<float> zeros(128, 0);
  for (int kind = INGOT_CODE_NF4; kind <= INGOT_CODE_INT8; ++kind)
    for (bool isDouble : {false, true}) {
      Encoding encoding = {static_cast<ingot_encoding>(kind), 64, isDouble};
      if (isDouble && kind >= INGOT_CODE_INT4)
        continue;
      Encoded encoded = encode(encoding, zeros.data(), 128);
      for (float number : decode(encoding, encoded, 128))
        EXPECT_EQ(number, 0);
    }
}

TEST(Quantization, DecodesAnyRange) {
  constexpr int64_t count = 333;
  std::vector<float> numbers = makeNumbers(count);
  for (int kind = INGOT_CODE_NF4; kind <= INGOT_CODE_INT8; ++kind) {
    Encoding encoding = {static_cast<ingot_encoding>(kind), 32, false};
    Encoded encoded = encode(encoding, numbers.data(), count);
    std::vector<float> all = decode(encoding, encoded, count);
    Decoder decoder(encoding, {encoded.codes.data(), encoded.scales.data(), {}},
                    count);
    for (int64_t first = 0; first < count; first += 7)
      for (int64_t size : {1, 2, 31, 70}) {
        if (first + size > count)
          continue;
        std::vector<float> some(size);
        decoder.decode(first, size, some.data());
        for (int64_t i = 0; i < size; ++i)
          ASSERT_EQ(some[i], all[first + i]);
      }
  }
}

TEST(Quantization, BitsOfAWeight) {
  // 4 bits, 8 of each 64, and 32 of each 16,384.
  constexpr int64_t count = 1 << 20;
  Encoding encoding = {INGOT_CODE_NF4, 64, true};
  int64_t bytes = encoding.getCodeBytes(count) + encoding.countScales(count) +
                  4 * encoding.countNested(count);
  EXPECT_NEAR(8.0 * static_cast<double>(bytes) / count, 4.127, 0.001);
}

} // namespace
