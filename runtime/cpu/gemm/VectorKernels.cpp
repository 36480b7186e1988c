// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/gemm/GemmKernels.h"

#include "runtime/abi/Abi.h"

#ifdef __x86_64__
#include "runtime/cpu/gemm/Avx512Lanes.h"

#include <algorithm>
#endif

using namespace ingot::runtime::gemm;

Elements Elements::operator+(int64_t count) const {
  return {static_cast<const char *>(data) + count * getElementBytes(type),
          type};
}

#ifdef __x86_64__
using ingot::abi::kVectorBlocking;

static constexpr int64_t kTileRows = kVectorBlocking.tileRows;
static constexpr int64_t kTileColumns = kVectorBlocking.tileColumns;
static_assert(kTileColumns == 2 * kLanes, "sums of two vectors a row");
static_assert(kVectorBlocking.getLineBytes(1) == sizeof(float));

/// Packs up to 16 lines of `size` contiguous elements as columns of `width`.
template <typename Load>
INGOT_AVX512 static void packLines(const typename Load::Element *from,
                                   int64_t lineStride, int64_t lines,
                                   int64_t size, int64_t width, float *packed) {
  __mmask16 stored = firstLanes(std::min(width, kLanes));
  for (int64_t i = 0; i < size; i += kLanes) {
    __mmask16 loaded = firstLanes(size - i);
    __m512 v[kLanes];
#pragma unroll
    for (int line = 0; line < 16; ++line)
      v[line] = line < lines ? Load::load(loaded, from + line * lineStride + i)
                             : _mm512_setzero_ps();
    transpose(v);
    int64_t count = std::min(kLanes, size - i);
    if (count == kLanes) {
#pragma unroll
      for (int64_t j = 0; j < 16; ++j)
        _mm512_mask_storeu_ps(packed + (i + j) * width, stored, v[j]);
      continue;
    }
    for (int64_t j = 0; j < count; ++j)
      _mm512_mask_storeu_ps(packed + (i + j) * width, stored, v[j]);
  }
}

template <typename Load>
INGOT_AVX512 static void packRows(const typename Load::Element *a,
                                  int64_t rowStride, int64_t innerStride,
                                  int64_t rows, int64_t size, float *packed) {
  if (innerStride == 1)
    return packLines<Load>(a, rowStride, rows, size, kTileRows, packed);
  __mmask16 loaded = firstLanes(rows), stored = firstLanes(kTileRows);
  for (int64_t i = 0; i < size; ++i)
    _mm512_mask_storeu_ps(packed + i * kTileRows, stored,
                          Load::load(loaded, a + i * innerStride));
}

template <typename Load>
INGOT_AVX512 static void packColumns(const typename Load::Element *b,
                                     int64_t innerStride, int64_t columnStride,
                                     int64_t size, int64_t columns,
                                     float *packed) {
  int64_t whole = columns / kTileColumns * kTileColumns;
  if (columnStride == 1) {
    // Copy along the rows, which are contiguous, into all panels.
    __mmask16 low = firstLanes(columns - whole);
    __mmask16 high = firstLanes(std::max<int64_t>(columns - whole - kLanes, 0));
    for (int64_t i = 0; i < size; ++i) {
      const typename Load::Element *from = b + i * innerStride;
      float *to = packed + i * kTileColumns;
      for (int64_t j = 0; j < whole; j += kTileColumns) {
        _mm512_store_ps(to + j * size, Load::load(from + j));
        _mm512_store_ps(to + j * size + kLanes, Load::load(from + j + kLanes));
      }
      if (whole < columns) {
        _mm512_store_ps(to + whole * size, Load::load(low, from + whole));
        _mm512_store_ps(to + whole * size + kLanes,
                        Load::load(high, from + whole + kLanes));
      }
    }
    return;
  }
  for (int64_t j = 0; j < columns; j += kTileColumns) {
    int64_t count = std::min(kTileColumns, columns - j);
    const typename Load::Element *line = b + j * columnStride;
    packLines<Load>(line, columnStride, std::min(kLanes, count), size,
                    kTileColumns, packed);
    packLines<Load>(line + kLanes * columnStride, columnStride,
                    std::max<int64_t>(count - kLanes, 0), size, kTileColumns,
                    packed + kLanes);
    packed += kTileColumns * size;
  }
}

static void packA(Elements a, int64_t rowStride, int64_t innerStride,
                  int64_t rows, int64_t size, char *packed) {
  visit(a, [&](auto load, const auto *data) {
    packRows<decltype(load)>(data, rowStride, innerStride, rows, size,
                             reinterpret_cast<float *>(packed));
  });
}

static void packB(Elements b, int64_t innerStride, int64_t columnStride,
                  int64_t size, int64_t columns, char *packed) {
  visit(b, [&](auto load, const auto *data) {
    packColumns<decltype(load)>(data, innerStride, columnStride, size, columns,
                                reinterpret_cast<float *>(packed));
  });
}

INGOT_AVX512 static void multiplyTile(int64_t size, const char *panelA,
                                      const char *panelB, float *__restrict c,
                                      int64_t rowStride, int64_t rows,
                                      int64_t columns, bool adds) {
  const auto *__restrict a = reinterpret_cast<const float *>(panelA);
  const auto *__restrict b = reinterpret_cast<const float *>(panelB);
  __m512 sum[kTileRows][2];
#pragma unroll
  for (int i = 0; i < kTileRows; ++i) {
    sum[i][0] = _mm512_setzero_ps();
    sum[i][1] = _mm512_setzero_ps();
  }
  auto multiplyStep = [&]() INGOT_AVX512 __attribute__((always_inline)) {
    __m512 low = _mm512_load_ps(b), high = _mm512_load_ps(b + kLanes);
    // Panels come from the L2 cache: prefetch them.
    _mm_prefetch(reinterpret_cast<const char *>(b + 8 * kTileColumns),
                 _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char *>(b + 8 * kTileColumns + kLanes),
                 _MM_HINT_T0);
#pragma unroll
    for (int i = 0; i < kTileRows; ++i) {
      __m512 x = _mm512_set1_ps(a[i]);
      sum[i][0] = _mm512_fmadd_ps(x, low, sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(x, high, sum[i][1]);
    }
    a += kTileRows;
    b += kTileColumns;
  };
  // Prefetch the lines of c one row at a time: all at once would delay the
  // loads of b.
  int64_t part = size / kTileRows;
  for (int64_t i = 0; i < kTileRows; ++i) {
    const float *row = c + i * rowStride;
    _mm_prefetch(reinterpret_cast<const char *>(row), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char *>(row + kLanes), _MM_HINT_T0);
    for (int64_t k = 0; k < part; ++k)
      multiplyStep();
  }
  for (int64_t k = part * kTileRows; k < size; ++k)
    multiplyStep();
  __mmask16 low = firstLanes(columns);
  __mmask16 high = firstLanes(std::max<int64_t>(columns - kLanes, 0));
#pragma unroll
  for (int i = 0; i < kTileRows; ++i) {
    if (i < rows) {
      float *row = c + i * rowStride;
      if (adds) {
        sum[i][0] = _mm512_add_ps(sum[i][0], _mm512_maskz_loadu_ps(low, row));
        sum[i][1] =
            _mm512_add_ps(sum[i][1], _mm512_maskz_loadu_ps(high, row + kLanes));
      }
      _mm512_mask_storeu_ps(row, low, sum[i][0]);
      _mm512_mask_storeu_ps(row + kLanes, high, sum[i][1]);
    }
  }
}

const Kernels &ingot::runtime::gemm::getVectorKernels() {
  auto nothing = [] {};
  auto round = [](const float *sums, int32_t type, uint16_t *to,
                  int64_t count) { roundFromF32(sums, to, type, count); };
  static constexpr Kernels kernels = {kVectorBlocking,
                                      /*isChain=*/false,
                                      /*depth=*/kVectorBlocking.inner,
                                      packA,
                                      packB,
                                      multiplyTile,
                                      round,
                                      /*begin=*/nothing,
                                      /*end=*/nothing};
  return kernels;
}

#else

const Kernels &ingot::runtime::gemm::getVectorKernels() {
  static constexpr Kernels kernels = {};
  return kernels;
}

#endif
