// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/vectors/HalfPrecision.h"

#include "runtime/abi/Abi.h"
#include "runtime/core/machine/Features.h"

#include <bit>

using namespace ingot::runtime;

/// The bits of f16 infinity.
static constexpr uint32_t kF16Infinity = 0x7c00;

static inline float widenF16(uint16_t half) {
  // The magnitude's bits, read as f32, are 2^112 too small; multiplying also
  // normalizes what is subnormal in f16.
  uint32_t magnitude = half & 0x7fffu;
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  uint32_t bits = std::bit_cast<uint32_t>(scaled);
  bits |= magnitude >= kF16Infinity ? 0x7f800000u : 0u;
  return std::bit_cast<float>(bits | (half & 0x8000u) << 16);
}

static inline uint16_t roundToF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  // Normal numbers: rebias, then round away the 13 low bits.
  uint32_t odd = magnitude >> 13 & 1;
  uint32_t normal = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  // Subnormal ones: an addition aligns the digits and rounds them.
  float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? kF16Infinity : result;
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  return static_cast<uint16_t>(result | sign);
}

static inline float widenBf16(uint16_t half) {
  return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
}

static inline uint16_t roundToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  bool isNan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<uint16_t>(isNan ? bits >> 16 | 0x40u : rounded);
}

// Conversions have no branches, so that loops of them vectorize on any CPU.

template <auto convert, typename From, typename To>
static void convertAll(const From *from, To *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = convert(from[i]);
}

/// One build of a conversion.
template <typename From, typename To> struct Conversion {
  void (*run)(const From *from, To *to, int64_t count);
};

#ifdef __x86_64__
template <auto convert, typename From, typename To>
__attribute__((target("avx2,f16c"))) static void
convertAllAvx2(const From *from, To *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = convert(from[i]);
}

template <auto convert, typename From, typename To>
__attribute__((target("avx512f"))) static void
convertAllAvx512(const From *from, To *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = convert(from[i]);
}
#endif

/// Converts with the widest vectors that the CPU has.
template <auto convert, typename From, typename To>
static void convertBest(const From *from, To *to, int64_t count) {
#ifdef __x86_64__
  using Build = Conversion<From, To>;
  static const Build baseline = {convertAll<convert, From, To>},
                     avx2 = {convertAllAvx2<convert, From, To>},
                     avx512 = {convertAllAvx512<convert, From, To>};
  static const Build &best = VectorBuilds<Build>{baseline, avx2, avx512}.get();
  return best.run(from, to, count);
#else
  convertAll<convert>(from, to, count);
#endif
}

void ingot::runtime::widenToF32(const void *from, int32_t type, float *to,
                                int64_t count) {
  const auto *half = static_cast<const uint16_t *>(from);
  if (type == INGOT_F16)
    convertBest<widenF16>(half, to, count);
  else
    convertBest<widenBf16>(half, to, count);
}

void ingot::runtime::roundFromF32(const float *from, void *to, int32_t type,
                                  int64_t count) {
  auto *half = static_cast<uint16_t *>(to);
  if (type == INGOT_F16)
    convertBest<roundToF16>(from, half, count);
  else
    convertBest<roundToBf16>(from, half, count);
}
