// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// 8-bit floats as the PTX ISA describes them: e4m3 has no infinities, e5m2 is
// the upper half of f16. Numbers are found in a table of all of them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_FLOAT8_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_FLOAT8_H

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fakes {

enum class Float8 { E4M3, E5M2 };

/// Returns the number of the bits, by the definition of the type.
inline double computeFloat8(uint8_t bits, Float8 type) {
  int mantissaBits = type == Float8::E4M3 ? 3 : 2;
  int bias = type == Float8::E4M3 ? 7 : 15;
  int exponent = (bits & 0x7f) >> mantissaBits;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = (bits & 0x80) != 0 ? -1 : 1;
  if (type == Float8::E4M3 && (bits & 0x7f) == 0x7f)
    return std::numeric_limits<double>::quiet_NaN();
  if (type == Float8::E5M2 && exponent == 0x1f)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  double whole = exponent == 0 ? mantissa : mantissa + (1 << mantissaBits);
  return sign * std::ldexp(whole, std::max(exponent, 1) - bias - mantissaBits);
}

/// All numbers of a type, by their bits.
inline const std::array<double, 256> &getFloat8Numbers(Float8 type) {
  auto compute = [](Float8 of) {
    std::array<double, 256> numbers;
    for (size_t bits = 0; bits < numbers.size(); ++bits)
      numbers[bits] = computeFloat8(static_cast<uint8_t>(bits), of);
    return numbers;
  };
  static const std::array<double, 256> e4m3 = compute(Float8::E4M3),
                                       e5m2 = compute(Float8::E5M2);
  return type == Float8::E4M3 ? e4m3 : e5m2;
}

inline double decodeFloat8(uint8_t bits, Float8 type) {
  return getFloat8Numbers(type)[bits];
}

/// `.rn.satfinite`: the nearest number, of two the one with an even last bit.
inline uint8_t encodeFloat8(float value, Float8 type) {
  if (std::isnan(value))
    return 0x7f;
  auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  uint8_t largest = type == Float8::E4M3 ? 0x7e : 0x7b;
  double size = std::fabs(static_cast<double>(value));
  // Positive numbers grow with their bits.
  const double *numbers = getFloat8Numbers(type).data();
  const double *above = std::lower_bound(numbers, numbers + largest, size);
  auto bits = static_cast<uint8_t>(above - numbers);
  if (bits == 0 || size >= *above)
    return sign | bits;
  double down = size - above[-1], up = *above - size;
  return sign | static_cast<uint8_t>(
                    bits - (down < up || (down == up && bits % 2 == 1)));
}

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_FLOAT8_H
