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
#include <cmath>
#include <cstdint>
#include <limits>

namespace fakes {

enum class Float8 { E4M3, E5M2 };

inline double decodeFloat8(uint8_t bits, Float8 type) {
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

/// `.rn.satfinite`: the nearest number, of two the one with an even last bit.
inline uint8_t encodeFloat8(float value, Float8 type) {
  auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  if (std::isnan(value))
    return 0x7f;
  double size = std::fabs(static_cast<double>(value));
  uint8_t largest = type == Float8::E4M3 ? 0x7e : 0x7b, best = 0;
  double distance = std::numeric_limits<double>::infinity();
  if (std::isinf(value))
    return sign | largest;
  for (int bits = 0; bits <= largest; ++bits) {
    double other =
        std::fabs(decodeFloat8(static_cast<uint8_t>(bits), type) - size);
    if (other < distance || (other == distance && bits % 2 == 0)) {
      distance = other;
      best = static_cast<uint8_t>(bits);
    }
  }
  return sign | best;
}

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_FLOAT8_H
