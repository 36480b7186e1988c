// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kernels of a GEMM in bf16 for x86 CPUs with AVX512-BF16, whose vector
// units add the products of pairs of elements to sums in f32. Packed operands
// have the pairs of neighbouring inner elements.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/gemm/kernels/GemmKernels.h"

#ifdef __x86_64__
#include "runtime/cpu/gemm/kernels/Avx512Lanes.h"

#define INGOT_DOTS                                                             \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;

namespace {

constexpr ingot::cpu::GemmBlocking kBlocking = ingot::cpu::kDotBlocking;
constexpr int kRows = int(kBlocking.tileRows);
constexpr int64_t kColumns = kBlocking.tileColumns;
static_assert(kColumns == 2 * kLanes);

/// The lanes of pairs, the last of which may have one element.
INGOT_DOTS inline __mmask32 firstHalves(int64_t count) {
  return count >= 32 ? ~__mmask32(0) : (__mmask32(1) << count) - 1;
}

INGOT_DOTS inline __m512 loadPairs(const uint16_t *from, int64_t count) {
  if (count <= 0)
    return _mm512_setzero_ps();
  return _mm512_castsi512_ps(
      _mm512_maskz_loadu_epi16(firstHalves(count), from));
}

/// Pairs of the elements of two lines.
INGOT_DOTS inline __m512 pairLines(const uint16_t *first,
                                   const uint16_t *second, int64_t count) {
  auto mask = firstLanes(count);
  __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, first));
  if (!second)
    return _mm512_castsi512_ps(low);
  __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, second));
  return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

/// Packs up to kLanes lines of `size` contiguous elements as columns of
/// `width`, of which `stored` belong to these lines.
INGOT_DOTS void packLines(const uint16_t *from, int64_t lineStride,
                          int64_t lines, int64_t size, int64_t width,
                          int64_t stored, float *packed) {
  __mmask16 mask = firstLanes(stored);
  for (int64_t i = 0; i < size; i += 2 * kLanes) {
    __m512 v[kLanes];
    for (int64_t l = 0; l < kLanes; ++l)
      v[l] = l < lines ? loadPairs(from + l * lineStride + i, size - i)
                       : _mm512_setzero_ps();
    transpose(v);
    int64_t pairs = (size - i + 1) / 2;
    for (int64_t l = 0; l < kLanes && l < pairs; ++l, packed += width)
      _mm512_mask_storeu_ps(packed, mask, v[l]);
  }
}

INGOT_DOTS void packA(Elements a, int64_t rowStride, int64_t innerStride,
                      int64_t rows, int64_t size, char *to) {
  const auto *from = static_cast<const uint16_t *>(a.data);
  auto *packed = reinterpret_cast<float *>(to);
  int64_t pairs = (size + 1) / 2;
  for (int64_t row = 0; row < rows && innerStride == 1; row += kRows)
    packLines(from + row * rowStride, rowStride, rows - row, size, kRows, kRows,
              packed + row * pairs);
  for (int64_t i = 0; i < size && innerStride != 1; i += 2) {
    const uint16_t *line = from + i * innerStride;
    const uint16_t *next = i + 1 < size ? line + innerStride : nullptr;
    for (int64_t row = 0; row < rows; row += kRows)
      _mm512_mask_storeu_ps(
          packed + row * pairs + i / 2 * kRows, firstLanes(kRows),
          pairLines(line + row, next ? next + row : nullptr, rows - row));
  }
}

INGOT_DOTS void packB(Elements b, int64_t innerStride, int64_t columnStride,
                      int64_t size, int64_t columns, char *to) {
  const auto *from = static_cast<const uint16_t *>(b.data);
  auto *packed = reinterpret_cast<float *>(to);
  int64_t pairs = (size + 1) / 2;
  for (int64_t j = 0; j < columns; j += kColumns, packed += pairs * kColumns) {
    int64_t count = columns - j, rest = count - kLanes;
    const uint16_t *panel = from + j * columnStride;
    if (columnStride != 1) {
      packLines(panel, columnStride, count, size, kColumns, kLanes, packed);
      packLines(panel + kLanes * columnStride, columnStride, rest, size,
                kColumns, kLanes, packed + kLanes);
      continue;
    }
    for (int64_t i = 0; i < size; i += 2) {
      const uint16_t *first = panel + i * innerStride;
      const uint16_t *second = i + 1 < size ? first + innerStride : nullptr;
      float *pair = packed + i / 2 * kColumns;
      _mm512_storeu_ps(pair, pairLines(first, second, count));
      _mm512_storeu_ps(pair + kLanes,
                       rest > 0
                           ? pairLines(first + kLanes,
                                       second ? second + kLanes : nullptr, rest)
                           : _mm512_setzero_ps());
    }
  }
}

/// Multiplies the first `Rows` rows of a tile.
template <int Rows>
INGOT_DOTS void multiplyRows(int64_t size, const float *a, const float *b,
                             float *c, int64_t rowStride, int64_t rows,
                             int64_t columns, bool adds,
                             const Fetches &fetches) {
  __m512 sum[Rows][2];
#pragma unroll
  for (int i = 0; i < Rows; ++i)
    sum[i][0] = sum[i][1] = _mm512_setzero_ps();
  int64_t pairs = (size + 1) / 2, part = (pairs + Rows - 1) / Rows;
  FetchRows next(fetches, Rows);
  // The lines of c are prefetched one row at a time, as in f32.
  for (int64_t row = 0, k = 0; k < pairs; ++row) {
    __builtin_prefetch(c + row * rowStride, 1);
    __builtin_prefetch(c + row * rowStride + kLanes, 1);
    next.fetchNext();
    for (int64_t end = k + part < pairs ? k + part : pairs; k < end; ++k) {
      auto low = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b));
      auto high = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b + kLanes));
      // Panels come from the L2 cache.
      __builtin_prefetch(b + 8 * kColumns);
      __builtin_prefetch(b + 8 * kColumns + kLanes);
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
        auto left = reinterpret_cast<__m512bh>(_mm512_set1_ps(a[i]));
        sum[i][0] = _mm512_dpbf16_ps(sum[i][0], left, low);
        sum[i][1] = _mm512_dpbf16_ps(sum[i][1], left, high);
      }
      a += kRows;
      b += kColumns;
    }
  }
  __mmask16 first = firstLanes(columns);
  __mmask16 second =
      columns > kLanes ? firstLanes(columns - kLanes) : __mmask16(0);
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    if (i >= rows)
      continue;
    float *row = c + i * rowStride;
    if (adds) {
      sum[i][0] = _mm512_add_ps(sum[i][0], _mm512_maskz_loadu_ps(first, row));
      sum[i][1] =
          _mm512_add_ps(sum[i][1], _mm512_maskz_loadu_ps(second, row + kLanes));
    }
    _mm512_mask_storeu_ps(row, first, sum[i][0]);
    _mm512_mask_storeu_ps(row + kLanes, second, sum[i][1]);
  }
}

void multiplyTile(int64_t size, const char *panelA, const char *panelB,
                  float *c, int64_t rowStride, int64_t rows, int64_t columns,
                  bool adds, const Fetches &fetches) {
  const auto *a = reinterpret_cast<const float *>(panelA);
  const auto *b = reinterpret_cast<const float *>(panelB);
  if (rows <= kRows / 3)
    return multiplyRows<kRows / 3>(size, a, b, c, rowStride, rows, columns,
                                   adds, fetches);
  if (rows <= kRows / 3 * 2)
    return multiplyRows<kRows / 3 * 2>(size, a, b, c, rowStride, rows, columns,
                                       adds, fetches);
  multiplyRows<kRows>(size, a, b, c, rowStride, rows, columns, adds, fetches);
}

/// A matrix times a vector, in the order of multiplyTile.
INGOT_DOTS void multiplyVector(Elements matrix, int64_t lineStride,
                               int64_t innerStride, int64_t lines,
                               Elements vector, int64_t size, float *sums,
                               bool adds) {
  const auto *from = static_cast<const uint16_t *>(matrix.data);
  const auto *factors = static_cast<const uint16_t *>(vector.data);
  alignas(64) float packed[kBlocking.getMostInner() / 2 * kLanes];
  for (int64_t line = 0; line < lines; line += kLanes) {
    const uint16_t *first = from + line * lineStride;
    if (innerStride == 1)
      packLines(first, lineStride, lines - line, size, kLanes, kLanes, packed);
    else
      for (int64_t i = 0; i < size; i += 2, first += 2 * innerStride)
        _mm512_store_ps(packed + i / 2 * kLanes,
                        pairLines(first,
                                  i + 1 < size ? first + innerStride : nullptr,
                                  lines - line));
    __m512 sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < size; i += 2) {
      uint32_t pair = factors[i];
      if (i + 1 < size)
        pair |= uint32_t(factors[i + 1]) << 16;
      auto left = reinterpret_cast<__m512bh>(_mm512_set1_epi32(int(pair)));
      auto right =
          reinterpret_cast<__m512bh>(_mm512_load_ps(packed + i / 2 * kLanes));
      sum = _mm512_dpbf16_ps(sum, left, right);
    }
    __mmask16 mask = firstLanes(lines - line);
    if (adds)
      sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, sums + line));
    _mm512_mask_storeu_ps(sums + line, mask, sum);
  }
}

INGOT_DOTS void roundSums(const float *sums, int32_t type, uint16_t *to,
                          int64_t count) {
  if (type != INGOT_BF16)
    return roundFromF32(sums, to, type, count);
  for (int64_t i = 0; i < count; i += kLanes) {
    __mmask16 mask = firstLanes(count - i);
    auto rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, sums + i));
    _mm256_mask_storeu_epi16(to + i, mask,
                             reinterpret_cast<__m256i &>(rounded));
  }
}

constexpr Kernels makeKernels() {
  Kernels kernels =
      makeVectorKernels(kBlocking, packA, packB, multiplyTile, multiplyVector);
  kernels.round = roundSums;
  return kernels;
}

} // namespace

const Kernels ingot::runtime::gemm::dotKernels = makeKernels();
#endif
