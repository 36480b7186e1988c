// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Elements of tensors on the fake GPU, read and written as numbers.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_VALUES_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_VALUES_H

#include <bit>
#include <cstdint>
#include <cstring>

namespace fakes {

enum class Element { F64, F32, F16, BF16 };

inline size_t getSize(Element element) {
  return element == Element::F64 ? 8 : element == Element::F32 ? 4 : 2;
}

inline double load(const void *data, int64_t index, Element element) {
  const auto *at =
      static_cast<const char *>(data) + index * int64_t(getSize(element));
  uint16_t half = 0;
  switch (element) {
  case Element::F64: {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  case Element::F32: {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  case Element::F16:
    std::memcpy(&half, at, sizeof(half));
    return static_cast<double>(std::bit_cast<_Float16>(half));
  case Element::BF16:
    break;
  }
  std::memcpy(&half, at, sizeof(half));
  return std::bit_cast<float>(uint32_t(half) << 16);
}

/// To the nearest, ties to even.
inline uint16_t roundToBFloat16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<uint16_t>(bits >> 16);
}

/// What tensor cores read of a 32-bit operand: 10 bits of mantissa.
inline float roundToTF32(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return value;
  bits += 0xfff + (bits >> 13 & 1);
  return std::bit_cast<float>(bits & ~uint32_t(0x1fff));
}

/// Rounds to fp32 first, as libraries that sum in it do; not from fp64 to fp64.
inline void store(void *data, int64_t index, Element element, double value) {
  auto *at = static_cast<char *>(data) + index * int64_t(getSize(element));
  auto single = static_cast<float>(value);
  uint16_t half = 0;
  switch (element) {
  case Element::F64:
    std::memcpy(at, &value, sizeof(value));
    return;
  case Element::F32:
    std::memcpy(at, &single, sizeof(single));
    return;
  case Element::F16:
    half = std::bit_cast<uint16_t>(static_cast<_Float16>(single));
    break;
  case Element::BF16:
    half = roundToBFloat16(single);
    break;
  }
  std::memcpy(at, &half, sizeof(half));
}

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_VALUES_H
