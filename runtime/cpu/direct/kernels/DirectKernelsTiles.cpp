// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kernels of direct convolution for the tile units of AMX, which multiply
// pairs of bf16 and add them up in f32. A row of pixels is the left operand as
// it is in memory, since the distance of its pixels is that of a register's
// rows; packed filters are the right one.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/direct/kernels/DirectKernels.h"

#ifdef __x86_64__
#include "runtime/cpu/gemm/kernels/Avx512Lanes.h"

#include <algorithm>

using namespace ingot::runtime::direct;
using ingot::runtime::gemm::firstLanes;
using ingot::runtime::gemm::kLanes;

/// The features of CPUs with tile units.
#define INGOT_AMX                                                              \
  __attribute__((                                                              \
      target("amx-tile,amx-bf16,avx512bf16,avx512f,avx512bw,avx512vl")))

/// The rows of a tile register, and the pairs, or sums in f32, of a row.
static constexpr int64_t kRows = 16, kColumns = 16;
static constexpr int64_t kRowBytes = kColumns * sizeof(float);

// Registers 0 to 3 hold the sums, of one vector after the other for each 16
// rows; 4 and 5 hold rows of the left operand, 6 and 7 take turns with vectors
// of the right one.

namespace {
/// The operand of LDTILECFG: palette 1. Registers of sums and of the left
/// operand have the rows of the tile, so that nothing past them is accessed.
struct alignas(64) TileConfig {
  TileConfig(int64_t tileRows, int64_t vectors) {
    for (int64_t i = 0; i < 2; ++i) {
      auto count = static_cast<uint8_t>(
          std::clamp<int64_t>(tileRows - i * kRows, 0, kRows));
      if (count == 0)
        continue;
      for (int64_t v = 0; v < vectors; ++v)
        set(i * vectors + v, count);
      set(4 + i, count);
    }
    set(6, kRows);
    set(7, kRows);
  }

private:
  void set(int64_t tile, uint8_t count) {
    rowBytes[tile] = kRowBytes;
    rows[tile] = count;
  }

  [[maybe_unused]] uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

/// Memory of sums in f32, `step` elements from a row to the next.
struct Sums {
  float *data;
  int64_t step;
};
} // namespace

template <int64_t blocks, int64_t vectors>
INGOT_AMX static void loadSums(const Sums &from) {
  int64_t bytes = from.step * static_cast<int64_t>(sizeof(float));
  const float *second =
      from.data + (blocks == 2 ? kRows * from.step : 2 * kColumns);
  _tile_loadd(0, from.data, bytes);
  if constexpr (vectors > 1)
    _tile_loadd(1, from.data + kColumns, bytes);
  if constexpr (vectors == 4) {
    _tile_loadd(2, second, bytes);
    _tile_loadd(3, second + kColumns, bytes);
  } else if constexpr (blocks == 2 && vectors == 2) {
    _tile_loadd(2, second, bytes);
    _tile_loadd(3, second + kColumns, bytes);
  } else if constexpr (blocks == 2) {
    _tile_loadd(1, second, bytes);
  }
}

template <int64_t blocks, int64_t vectors>
INGOT_AMX static void storeSums(const Sums &to) {
  int64_t bytes = to.step * static_cast<int64_t>(sizeof(float));
  float *second = to.data + (blocks == 2 ? kRows * to.step : 2 * kColumns);
  _tile_stored(0, to.data, bytes);
  if constexpr (vectors > 1)
    _tile_stored(1, to.data + kColumns, bytes);
  if constexpr (blocks * vectors == 4) {
    _tile_stored(2, second, bytes);
    _tile_stored(3, second + kColumns, bytes);
  } else if constexpr (blocks == 2) {
    _tile_stored(1, second, bytes);
  }
}

template <int64_t blocks, int64_t vectors> INGOT_AMX static void zeroSums() {
  _tile_zero(0);
  if constexpr (blocks * vectors > 1)
    _tile_zero(1);
  if constexpr (blocks * vectors == 4) {
    _tile_zero(2);
    _tile_zero(3);
  }
}

/// Adds the products of 16 pairs of each row of `a` and of 16 rows of `b`;
/// strides are in bytes.
template <int64_t blocks, int64_t vectors>
INGOT_AMX static inline void addProducts(const void *a, int64_t aStride,
                                         const float *b, int64_t bStride) {
  _tile_loadd(4, a, aStride);
  _tile_loadd(6, b, bStride);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (vectors > 1) {
    _tile_loadd(7, b + kColumns, bStride);
    _tile_dpbf16ps(1, 4, 7);
  }
  if constexpr (vectors == 4) {
    _tile_loadd(6, b + 2 * kColumns, bStride);
    _tile_dpbf16ps(2, 4, 6);
    _tile_loadd(7, b + 3 * kColumns, bStride);
    _tile_dpbf16ps(3, 4, 7);
  }
  if constexpr (blocks == 2) {
    _tile_loadd(5, static_cast<const char *>(a) + kRows * aStride, aStride);
    if constexpr (vectors == 1) {
      _tile_dpbf16ps(1, 5, 6);
    } else {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
}

/// Copies `count` elements of 32 bits.
INGOT_AMX static void copyRow(const float *from, float *to, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    __mmask16 mask = firstLanes(count - i);
    _mm512_mask_storeu_ps(to + i, mask, _mm512_maskz_loadu_ps(mask, from + i));
  }
}

INGOT_AMX static void roundRow(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    __mmask16 mask = firstLanes(count - i);
    auto rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from + i));
    _mm256_mask_storeu_epi16(to + i, mask,
                             reinterpret_cast<__m256i &>(rounded));
  }
}

/// Runs `addAll`, which adds the products of a tile to the sums in registers.
template <int64_t blocks, int64_t vectors, typename Add>
INGOT_AMX static inline void multiplyTile(const Tile &t, const Add &addAll) {
  constexpr int64_t width = vectors * kColumns;
  const TileConfig config(t.rows, vectors);
  _tile_loadconfig(&config);
  // Registers have whole vectors of columns, of which some are not written.
  alignas(64) float room[blocks * kRows * width];
  bool isDirect = !t.rounded && t.columns == width;
  Sums sums = isDirect ? Sums{t.c, t.cStep} : Sums{room, width};
  if (t.adds) {
    for (int64_t i = 0; !isDirect && i < t.rows; ++i) {
      std::fill_n(room + i * width, width, 0.0f);
      copyRow(t.c + i * t.cStep, room + i * width, t.columns);
    }
    loadSums<blocks, vectors>(sums);
  } else {
    zeroSums<blocks, vectors>();
  }
  addAll();
  storeSums<blocks, vectors>(sums);
  _tile_release();
  for (int64_t i = 0; !isDirect && i < t.rows; ++i)
    if (t.rounded)
      roundRow(room + i * width, t.rounded + i * t.cStep, t.columns);
    else
      copyRow(room + i * width, t.c + i * t.cStep, t.columns);
}

/// Where pairs of a row of `a` are contiguous. Registers always have 16 pairs:
/// the last ones of a segment are copied, and zeros follow them.
template <int64_t blocks, int64_t vectors>
INGOT_AMX static void multiplyRows(const Tile &t) {
  constexpr int64_t width = vectors * kColumns;
  constexpr int64_t bStride = vectors * kRowBytes;
  int64_t aStride = t.aStep * static_cast<int64_t>(sizeof(float));
  multiplyTile<blocks, vectors>(t, [&]() INGOT_AMX {
    alignas(64) float lastA[blocks * kRows * kColumns], lastB[kRows * width];
    for (int64_t s = 0; s < t.segments; ++s) {
      const float *a = t.a[s] + t.aOffset, *b = t.b[s] + t.bOffset;
      int64_t i = 0;
      for (; i + kColumns <= t.length; i += kColumns, b += kRows * width)
        addProducts<blocks, vectors>(a + i, aStride, b, bStride);
      int64_t rest = t.length - i;
      if (rest == 0)
        continue;
      __mmask16 mask = firstLanes(rest);
      for (int64_t row = 0; row < t.rows; ++row)
        _mm512_store_ps(lastA + row * kColumns,
                        _mm512_maskz_loadu_ps(mask, a + row * t.aStep + i));
      std::copy_n(b, rest * width, lastB);
      std::fill_n(lastB + rest * width, (kRows - rest) * width, 0.0f);
      addProducts<blocks, vectors>(lastA, kRowBytes, lastB, bStride);
    }
  });
}

namespace {
/// Up to 16 pairs of the inner dimension, which may be of several segments.
struct Pairs {
  const float *a[kRows], *b[kRows];
  int64_t count = 0;
};
} // namespace

/// Where pairs of a column of `a` are contiguous, which become rows of a
/// register.
template <int64_t blocks, int64_t vectors>
INGOT_AMX static inline void addColumns(const Tile &t, const Pairs &pairs) {
  constexpr int64_t width = vectors * kColumns;
  alignas(64) float rows[blocks * kRows * kColumns], last[kRows * width];
#pragma unroll
  for (int64_t block = 0; block < blocks; ++block) {
    __mmask16 mask = firstLanes(t.rows - block * kRows);
    __m512 lines[kLanes];
#pragma unroll
    for (int64_t i = 0; i < kLanes; ++i)
      lines[i] = i < pairs.count
                     ? _mm512_maskz_loadu_ps(mask, pairs.a[i] + block * kRows)
                     : _mm512_setzero_ps();
    ingot::runtime::gemm::transpose(lines);
#pragma unroll
    for (int64_t i = 0; i < kLanes; ++i)
      _mm512_store_ps(rows + (block * kRows + i) * kColumns, lines[i]);
  }
  bool isSpaced = pairs.count == kRows;
  for (int64_t i = 1; isSpaced && i < kRows; ++i)
    isSpaced = pairs.b[i] == pairs.b[i - 1] + t.bStep;
  if (isSpaced)
    return addProducts<blocks, vectors>(
        rows, kRowBytes, pairs.b[0],
        t.bStep * static_cast<int64_t>(sizeof(float)));
  for (int64_t i = 0; i < kRows; ++i)
    if (i < pairs.count)
      std::copy_n(pairs.b[i], width, last + i * width);
    else
      std::fill_n(last + i * width, width, 0.0f);
  addProducts<blocks, vectors>(rows, kRowBytes, last, vectors * kRowBytes);
}

template <int64_t blocks, int64_t vectors>
INGOT_AMX static void multiplyColumns(const Tile &t) {
  multiplyTile<blocks, vectors>(t, [&]() INGOT_AMX {
    Pairs pairs;
    for (int64_t s = 0; s < t.segments; ++s)
      for (int64_t i = 0; i < t.length; ++i) {
        pairs.a[pairs.count] = t.a[s] + t.aOffset + i * t.aStep;
        pairs.b[pairs.count++] = t.b[s] + t.bOffset + i * t.bStep;
        if (pairs.count < kRows)
          continue;
        addColumns<blocks, vectors>(t, pairs);
        pairs.count = 0;
      }
    if (pairs.count > 0)
      addColumns<blocks, vectors>(t, pairs);
  });
}

/// Calls the build of a function for the rows and vectors of a tile.
#define INGOT_MULTIPLY(function, tile)                                         \
  if ((tile).vectors == 4)                                                     \
    return function<1, 4>(tile);                                               \
  bool isTall = (tile).rows > kRows;                                           \
  if ((tile).vectors == 2)                                                     \
    return isTall ? function<2, 2>(tile) : function<1, 2>(tile);               \
  return isTall ? function<2, 1>(tile) : function<1, 1>(tile)

static void multiplyAnyRows(const Tile &tile) {
  INGOT_MULTIPLY(multiplyRows, tile);
}
static void multiplyAnyColumns(const Tile &tile) {
  INGOT_MULTIPLY(multiplyColumns, tile);
}

const Kernels ingot::runtime::direct::tileKernels = {
    kLanes,
    {0, 2 * kRows, 2 * kRows, 0, kRows},
    multiplyAnyRows,
    multiplyAnyColumns};
#endif
