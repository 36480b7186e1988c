// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Elements of tensors on the fake GPU, read and written as numbers.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_ELEMENTS_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_ELEMENTS_H

#include "test/fakes/cuda/numbers/Float8.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace fakes {

enum class Element { F64, F32, F16, BF16, F8E4M3, F8E5M2, I32, I64, Bool };

inline size_t getSize(Element element) {
  switch (element) {
  case Element::F64:
  case Element::I64:
    return 8;
  case Element::F32:
  case Element::I32:
    return 4;
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::F8E4M3:
  case Element::F8E5M2:
  case Element::Bool:
    return 1;
  }
  return 0;
}

inline double load(const void *data, int64_t index, Element element) {
  const auto *at =
      static_cast<const char *>(data) + index * int64_t(getSize(element));
  uint16_t half = 0;
  auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return static_cast<double>(value);
  };
  switch (element) {
  case Element::F64:
    return read(double());
  case Element::F32:
    return read(float());
  case Element::I32:
    return read(int32_t());
  case Element::I64:
    return read(int64_t());
  case Element::Bool:
    return read(uint8_t()) != 0;
  case Element::F8E4M3:
    return decodeFloat8(static_cast<uint8_t>(*at), Float8::E4M3);
  case Element::F8E5M2:
    return decodeFloat8(static_cast<uint8_t>(*at), Float8::E5M2);
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

/// Rounds a 32-bit operand as tensor cores read it: 10 bits of mantissa.
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
  case Element::I32: {
    auto whole = static_cast<int32_t>(value);
    std::memcpy(at, &whole, sizeof(whole));
    return;
  }
  case Element::I64: {
    auto whole = static_cast<int64_t>(value);
    std::memcpy(at, &whole, sizeof(whole));
    return;
  }
  case Element::Bool:
    *at = value != 0;
    return;
  case Element::F8E4M3:
    *at = static_cast<char>(encodeFloat8(single, Float8::E4M3));
    return;
  case Element::F8E5M2:
    *at = static_cast<char>(encodeFloat8(single, Float8::E5M2));
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

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_ELEMENTS_H
