#include "runtime/cpu/gemm/Kernels.h"

#include "runtime/abi/Abi.h"

#ifdef __x86_64__
#include <immintrin.h>

#include <algorithm>
#endif

using namespace ingot::runtime::gemm;

Elements Elements::operator+(int64_t count) const {
  int64_t bytes = count * (type == INGOT_F32 ? 4 : 2);
  return {static_cast<const char *>(data) + bytes, type};
}

#ifdef __x86_64__
#define INGOT_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

static constexpr int64_t kLanes = 16;

INGOT_AVX512 static __mmask16 firstLanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffffu : (1u << count) - 1u);
}

// What loads 16 elements, or those of a mask, as f32.
namespace {
struct F32 {
  using Element = float;
  INGOT_AVX512 static __m512 load(const float *from) {
    return _mm512_loadu_ps(from);
  }
  INGOT_AVX512 static __m512 load(__mmask16 mask, const float *from) {
    return _mm512_maskz_loadu_ps(mask, from);
  }
};

struct Bf16 {
  INGOT_AVX512 static __m512 widen(__m256i halves) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};

struct F16 {
  INGOT_AVX512 static __m512 widen(__m256i halves) {
    return _mm512_cvtph_ps(halves);
  }
};

template <typename Half> struct Widening {
  using Element = uint16_t;
  INGOT_AVX512 static __m512 load(const uint16_t *from) {
    return Half::widen(_mm256_loadu_epi16(from));
  }
  INGOT_AVX512 static __m512 load(__mmask16 mask, const uint16_t *from) {
    return Half::widen(_mm256_maskz_loadu_epi16(mask, from));
  }
};
} // namespace

/// Row i becomes lane i of every vector.
INGOT_AVX512 static inline void transpose(__m512 (&v)[kLanes]) {
  __m512 t[kLanes];
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
  }
#pragma unroll
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    v[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    v[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    v[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  // v[4q + r] holds columns r, r + 4, r + 8, r + 12 of rows 4q to 4q + 3.
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    t[r] = _mm512_shuffle_f32x4(v[r], v[4 + r], 0x88);
    t[4 + r] = _mm512_shuffle_f32x4(v[r], v[4 + r], 0xdd);
    t[8 + r] = _mm512_shuffle_f32x4(v[8 + r], v[12 + r], 0x88);
    t[12 + r] = _mm512_shuffle_f32x4(v[8 + r], v[12 + r], 0xdd);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    v[r] = _mm512_shuffle_f32x4(t[r], t[8 + r], 0x88);
    v[8 + r] = _mm512_shuffle_f32x4(t[r], t[8 + r], 0xdd);
    v[4 + r] = _mm512_shuffle_f32x4(t[4 + r], t[12 + r], 0x88);
    v[12 + r] = _mm512_shuffle_f32x4(t[4 + r], t[12 + r], 0xdd);
  }
}

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
    // Along the rows, which are contiguous, into all panels.
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

/// Calls the function with what loads the elements, and with where they are.
template <typename Function>
static void visit(Elements elements, Function function) {
  switch (elements.type) {
  case INGOT_BF16:
    return function(Widening<Bf16>(),
                    static_cast<const uint16_t *>(elements.data));
  case INGOT_F16:
    return function(Widening<F16>(),
                    static_cast<const uint16_t *>(elements.data));
  default:
    return function(F32(), static_cast<const float *>(elements.data));
  }
}

void ingot::runtime::gemm::packA(Elements a, int64_t rowStride,
                                 int64_t innerStride, int64_t rows,
                                 int64_t size, float *packed) {
  visit(a, [&](auto load, const auto *data) {
    packRows<decltype(load)>(data, rowStride, innerStride, rows, size, packed);
  });
}

void ingot::runtime::gemm::packB(Elements b, int64_t innerStride,
                                 int64_t columnStride, int64_t size,
                                 int64_t columns, float *packed) {
  visit(b, [&](auto load, const auto *data) {
    packColumns<decltype(load)>(data, innerStride, columnStride, size, columns,
                                packed);
  });
}

INGOT_AVX512 void
ingot::runtime::gemm::multiplyTile(int64_t size, const float *__restrict a,
                                   const float *__restrict b,
                                   float *__restrict c, int64_t rowStride,
                                   int64_t rows, int64_t columns, bool adds) {
  __m512 sum[kTileRows][2];
#pragma unroll
  for (int i = 0; i < kTileRows; ++i) {
    sum[i][0] = _mm512_setzero_ps();
    sum[i][1] = _mm512_setzero_ps();
  }
  auto multiplyStep = [&]() INGOT_AVX512 __attribute__((always_inline)) {
    __m512 low = _mm512_load_ps(b), high = _mm512_load_ps(b + kLanes);
    // Panels come from the L2 cache: ask ahead of time.
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
  // Ask for the lines of c one row at a time: all at once would hold up those
  // of b.
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

#else

void ingot::runtime::gemm::packA(Elements, int64_t, int64_t, int64_t, int64_t,
                                 float *) {}
void ingot::runtime::gemm::packB(Elements, int64_t, int64_t, int64_t, int64_t,
                                 float *) {}
void ingot::runtime::gemm::multiplyTile(int64_t, const float *, const float *,
                                        float *, int64_t, int64_t, int64_t,
                                        bool) {}

#endif
