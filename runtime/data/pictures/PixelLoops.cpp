// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/PixelLoops.h"

#include "runtime/core/machine/Features.h"

#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

using namespace ingot::runtime;

static constexpr int32_t kHalf = 1 << (kWeightBits - 1);

static void reduceRowsFrom(int64_t first, const uint8_t *rows, int64_t stride,
                           const int16_t *weights, int64_t count, uint8_t *to,
                           int64_t bytes) {
  for (int64_t i = first; i < bytes; ++i) {
    int32_t sum = kHalf;
    for (int64_t t = 0; t < count; ++t)
      sum += rows[t * stride + i] * weights[t];
    to[i] = static_cast<uint8_t>(sum >> kWeightBits);
  }
}

static void reduceRowsPlain(const uint8_t *rows, int64_t stride,
                            const int16_t *weights, int64_t count, uint8_t *to,
                            int64_t bytes) {
  // Sums of a block stay in the cache, and rows are read in order.
  constexpr int64_t block = 256;
  int32_t sums[block];
  for (int64_t first = 0; first < bytes; first += block) {
    int64_t some = bytes - first < block ? bytes - first : block;
    for (int64_t i = 0; i < some; ++i)
      sums[i] = kHalf;
    for (int64_t t = 0; t < count; ++t) {
      const uint8_t *row = rows + t * stride + first;
      int32_t weight = weights[t];
      for (int64_t i = 0; i < some; ++i)
        sums[i] += row[i] * weight;
    }
    for (int64_t i = 0; i < some; ++i)
      to[first + i] = static_cast<uint8_t>(sums[i] >> kWeightBits);
  }
}

static void reduceColorsPlain(const uint8_t *row, const Tap *taps,
                              const int16_t *weights, uint8_t *to,
                              int64_t count) {
  using Bytes = uint8_t __attribute__((vector_size(4)));
  using Numbers = int32_t __attribute__((vector_size(16)));
  for (int64_t i = 0; i < count; ++i) {
    Numbers sum = {kHalf, kHalf, kHalf, kHalf};
    const uint8_t *pixel = row + taps[i].first * 4;
    const int16_t *weight = weights + taps[i].weights;
    for (int64_t t = 0; t < taps[i].count; ++t, pixel += 4) {
      Bytes bytes;
      std::memcpy(&bytes, pixel, sizeof(bytes));
      sum += __builtin_convertvector(bytes, Numbers) * int32_t(weight[t]);
    }
    Bytes rounded = __builtin_convertvector(sum >> kWeightBits, Bytes);
    std::memcpy(to + i * 4, &rounded, sizeof(rounded));
  }
}

static void convertColorFrom(int64_t first, const uint8_t *pixels, int color,
                             bool isFlipped, float scale, float shift,
                             float *to, int64_t count) {
  const uint8_t *from = pixels + color;
  int64_t step = isFlipped ? -4 : 4;
  for (int64_t i = first; i < count; ++i)
    to[i] = static_cast<float>(from[i * step]) * scale + shift;
}

static void convertColorPlain(const uint8_t *pixels, int color, bool isFlipped,
                              float scale, float shift, float *to,
                              int64_t count) {
  convertColorFrom(0, pixels, color, isFlipped, scale, shift, to, count);
}

static const PixelLoops plainLoops = {reduceRowsPlain, reduceColorsPlain,
                                      convertColorPlain};

#ifdef __x86_64__
#define INGOT_AVX2 __attribute__((target("avx2")))

INGOT_AVX2 static void reduceRowsAvx2(const uint8_t *rows, int64_t stride,
                                      const int16_t *weights, int64_t count,
                                      uint8_t *to, int64_t bytes) {
  const __m256i zero = _mm256_setzero_si256();
  int64_t i = 0;
  for (; i + 32 <= bytes; i += 32) {
    __m256i sums[4];
    for (__m256i &sum : sums)
      sum = _mm256_set1_epi32(kHalf);
    // Two rows at once: their bytes side by side, times both weights.
    for (int64_t t = 0; t < count; t += 2) {
      const uint8_t *row = rows + t * stride + i;
      bool hasTwo = t + 1 < count;
      auto low = static_cast<uint16_t>(weights[t]);
      auto high = static_cast<uint16_t>(hasTwo ? weights[t + 1] : 0);
      __m256i both =
          _mm256_set1_epi32(static_cast<int32_t>(uint32_t(high) << 16 | low));
      __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(row));
      __m256i b = hasTwo ? _mm256_loadu_si256(
                               reinterpret_cast<const __m256i *>(row + stride))
                         : zero;
      __m256i first = _mm256_unpacklo_epi8(a, b);
      __m256i second = _mm256_unpackhi_epi8(a, b);
      __m256i parts[4] = {_mm256_unpacklo_epi8(first, zero),
                          _mm256_unpackhi_epi8(first, zero),
                          _mm256_unpacklo_epi8(second, zero),
                          _mm256_unpackhi_epi8(second, zero)};
      for (int k = 0; k < 4; ++k)
        sums[k] = _mm256_add_epi32(sums[k], _mm256_madd_epi16(parts[k], both));
    }
    for (__m256i &sum : sums)
      sum = _mm256_srai_epi32(sum, kWeightBits);
    __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(sums[0], sums[1]),
                                         _mm256_packs_epi32(sums[2], sums[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + i), packed);
  }
  reduceRowsFrom(i, rows, stride, weights, count, to, bytes);
}

INGOT_AVX2 static void reduceColorsAvx2(const uint8_t *row, const Tap *taps,
                                        const int16_t *weights, uint8_t *to,
                                        int64_t count) {
  // Of two pixels in each half, the same colors side by side.
  const __m256i pairs =
      _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 0,
                       1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t *pixel = row + taps[i].first * 4;
    const int16_t *weight = weights + taps[i].weights;
    __m256i sum = _mm256_setzero_si256();
    for (int64_t t = 0; t < taps[i].count; t += kTapGroup) {
      __m256i colors = _mm256_cvtepu8_epi16(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(pixel + t * 4)));
      int32_t two[2];
      std::memcpy(two, weight + t, sizeof(two));
      __m256i scales = _mm256_setr_epi32(two[0], two[0], two[0], two[0], two[1],
                                         two[1], two[1], two[1]);
      sum = _mm256_add_epi32(
          sum, _mm256_madd_epi16(_mm256_shuffle_epi8(colors, pairs), scales));
    }
    __m128i whole = _mm_add_epi32(_mm256_castsi256_si128(sum),
                                  _mm256_extracti128_si256(sum, 1));
    whole = _mm_srai_epi32(_mm_add_epi32(whole, _mm_set1_epi32(kHalf)),
                           kWeightBits);
    whole = _mm_packs_epi32(whole, whole);
    int32_t rounded = _mm_cvtsi128_si32(_mm_packus_epi16(whole, whole));
    std::memcpy(to + i * 4, &rounded, sizeof(rounded));
  }
}

INGOT_AVX2 static void convertColorAvx2(const uint8_t *pixels, int color,
                                        bool isFlipped, float scale,
                                        float shift, float *to, int64_t count) {
  const __m256 scales = _mm256_set1_ps(scale), shifts = _mm256_set1_ps(shift);
  const __m256i mask = _mm256_set1_epi32(255);
  const __m256i reverse = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  const __m128i bits = _mm_cvtsi32_si128(8 * color);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint8_t *from = pixels + (isFlipped ? -i - 7 : i) * 4;
    __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
    if (isFlipped)
      eight = _mm256_permutevar8x32_epi32(eight, reverse);
    __m256i bytes = _mm256_and_si256(_mm256_srl_epi32(eight, bits), mask);
    _mm256_storeu_ps(
        to + i, _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(bytes), scales),
                              shifts));
  }
  convertColorFrom(i, pixels, color, isFlipped, scale, shift, to, count);
}

static const PixelLoops avx2Loops = {reduceRowsAvx2, reduceColorsAvx2,
                                     convertColorAvx2};
#endif

const PixelLoops &ingot::runtime::getPlainPixelLoops() { return plainLoops; }

const PixelLoops &ingot::runtime::getPixelLoops() {
#ifdef __x86_64__
  static const PixelLoops &chosen =
      getCpuLevel() >= abi::CpuLevel::V3 ? avx2Loops : plainLoops;
  return chosen;
#else
  return plainLoops;
#endif
}
