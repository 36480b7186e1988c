// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/winograd/WinogradKernels.h"

#ifdef __x86_64__
#include <immintrin.h>

#define INGOT_AVX512 __attribute__((target("avx512f")))
#define INGOT_INLINE INGOT_AVX512 __attribute__((always_inline)) static inline

using namespace ingot::runtime::winograd;

namespace {

using Vector = __m512;

// The points, and the divisors of the filter's polynomial at each.
constexpr float kA = 0.625f, kB = 1.25f;
constexpr float kA2 = kA * kA, kB2 = kB * kB;
constexpr float kZeroScale = 1 / (kA2 * kB2);
constexpr float kAScale = 1 / (2 * kA2 * (kA2 - kB2));
constexpr float kBScale = 1 / (2 * kB2 * (kB2 - kA2));

INGOT_INLINE Vector constant(float x) { return _mm512_set1_ps(x); }
INGOT_INLINE Vector add(Vector x, Vector y) { return _mm512_add_ps(x, y); }
INGOT_INLINE Vector sub(Vector x, Vector y) { return _mm512_sub_ps(x, y); }
INGOT_INLINE Vector scale(float x, Vector y) {
  return _mm512_mul_ps(constant(x), y);
}
/// Returns sum + x y.
INGOT_INLINE Vector fma(float x, Vector y, Vector sum) {
  return _mm512_fmadd_ps(constant(x), y, sum);
}

// Each of these transforms one line; strides are in vectors.

/// B^T: the input's polynomial times those of the other points.
struct Input {
  static constexpr int64_t kFrom = kIn, kTo = kIn;
  INGOT_INLINE void line(const Vector *d, int64_t s, Vector *v, int64_t t) {
    Vector x1 = d[s], x2 = d[2 * s], x3 = d[3 * s], x4 = d[4 * s];
    Vector evenA = fma(-kB2, x2, x4), oddA = fma(-kB2, x1, x3);
    Vector evenB = fma(-kA2, x2, x4), oddB = fma(-kA2, x1, x3);
    v[0] = fma(kA2 * kB2, d[0], fma(-(kA2 + kB2), x2, x4));
    v[t] = fma(kA, oddA, evenA);
    v[2 * t] = fma(-kA, oddA, evenA);
    v[3 * t] = fma(kB, oddB, evenB);
    v[4 * t] = fma(-kB, oddB, evenB);
    v[5 * t] = fma(kA2 * kB2, x1, fma(-(kA2 + kB2), x3, d[5 * s]));
  }
};

/// A: four coefficients at the points.
struct OutputGrad {
  static constexpr int64_t kFrom = kOut, kTo = kIn;
  INGOT_INLINE void line(const Vector *y, int64_t s, Vector *z, int64_t t) {
    Vector y0 = y[0], y1 = y[s], y2 = y[2 * s], y3 = y[3 * s];
    Vector evenA = fma(kA2, y2, y0), oddA = fma(kA2, y3, y1);
    Vector evenB = fma(kB2, y2, y0), oddB = fma(kB2, y3, y1);
    z[0] = y0;
    z[t] = fma(kA, oddA, evenA);
    z[2 * t] = fma(-kA, oddA, evenA);
    z[3 * t] = fma(kB, oddB, evenB);
    z[4 * t] = fma(-kB, oddB, evenB);
    z[5 * t] = y3;
  }
};

/// A^T: the transpose of OutputGrad.
struct Output {
  static constexpr int64_t kFrom = kIn, kTo = kOut;
  INGOT_INLINE void line(const Vector *m, int64_t s, Vector *y, int64_t t) {
    Vector sumA = add(m[s], m[2 * s]), differenceA = sub(m[s], m[2 * s]);
    Vector sumB = add(m[3 * s], m[4 * s]);
    Vector differenceB = sub(m[3 * s], m[4 * s]);
    y[0] = add(m[0], add(sumA, sumB));
    y[t] = fma(kA, differenceA, scale(kB, differenceB));
    y[2 * t] = fma(kA2, sumA, scale(kB2, sumB));
    y[3 * t] = fma(kA2 * kA, differenceA, fma(kB2 * kB, differenceB, m[5 * s]));
  }
};

/// G: the filter at the points, divided.
struct Filter {
  static constexpr int64_t kFrom = kTaps, kTo = kIn;
  INGOT_INLINE void line(const Vector *g, int64_t s, Vector *u, int64_t t) {
    Vector g0 = g[0], g1 = g[s], g2 = g[2 * s];
    Vector evenA = scale(kAScale, fma(kA2, g2, g0));
    Vector evenB = scale(kBScale, fma(kB2, g2, g0));
    u[0] = scale(kZeroScale, g0);
    u[t] = fma(kA * kAScale, g1, evenA);
    u[2 * t] = fma(-kA * kAScale, g1, evenA);
    u[3 * t] = fma(kB * kBScale, g1, evenB);
    u[4 * t] = fma(-kB * kBScale, g1, evenB);
    u[5 * t] = g2;
  }
};

/// G^T: the transpose of Filter.
struct FilterGrad {
  static constexpr int64_t kFrom = kIn, kTo = kTaps;
  INGOT_INLINE void line(const Vector *m, int64_t s, Vector *w, int64_t t) {
    Vector sumA = add(m[s], m[2 * s]), differenceA = sub(m[s], m[2 * s]);
    Vector sumB = add(m[3 * s], m[4 * s]);
    Vector differenceB = sub(m[3 * s], m[4 * s]);
    w[0] = fma(kZeroScale, m[0], fma(kAScale, sumA, scale(kBScale, sumB)));
    w[t] = fma(kA * kAScale, differenceA, scale(kB * kBScale, differenceB));
    w[2 * t] = fma(kA2 * kAScale, sumA, fma(kB2 * kBScale, sumB, m[5 * s]));
  }
};

/// Transforms the columns, then the rows.
template <typename Transform>
INGOT_INLINE void transform(const Vector *from, Vector *to) {
  Vector between[Transform::kTo * Transform::kFrom];
#pragma unroll
  for (int64_t i = 0; i < Transform::kFrom; ++i)
    Transform::line(from + i, Transform::kFrom, between + i, Transform::kFrom);
#pragma unroll
  for (int64_t i = 0; i < Transform::kTo; ++i)
    Transform::line(between + i * Transform::kFrom, 1, to + i * Transform::kTo,
                    1);
}

template <int64_t Size>
INGOT_INLINE void loadTile(const Tile &tile, Vector *pixels) {
  bool isWhole = tile.firstRow == 0 && tile.lastRow == Size &&
                 tile.firstColumn == 0 && tile.lastColumn == Size;
  for (int64_t i = 0; i < Size; ++i) {
    const float *row = tile.data + i * tile.rowStride;
    if (isWhole) {
#pragma unroll
      for (int64_t j = 0; j < Size; ++j)
        pixels[i * Size + j] = _mm512_loadu_ps(row + j * tile.columnStride);
      continue;
    }
    bool isInside = i >= tile.firstRow && i < tile.lastRow;
    for (int64_t j = 0; j < Size; ++j)
      pixels[i * Size + j] =
          isInside && j >= tile.firstColumn && j < tile.lastColumn
              ? _mm512_loadu_ps(row + j * tile.columnStride)
              : _mm512_setzero_ps();
  }
}

INGOT_INLINE void storePoints(const Vector *points, float *to, int64_t stride) {
#pragma unroll
  for (int64_t p = 0; p < kPoints; ++p)
    _mm512_storeu_ps(to + p * stride, points[p]);
}

INGOT_INLINE void loadPoints(const float *from, int64_t stride,
                             Vector *points) {
#pragma unroll
  for (int64_t p = 0; p < kPoints; ++p)
    points[p] = _mm512_loadu_ps(from + p * stride);
}

/// The offsets of 16 filters.
INGOT_INLINE __m512i filterOffsets(int64_t stride) {
  __m512i lanes =
      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(stride)));
}

template <int Rows>
INGOT_AVX512 void multiplyRows(int64_t size, const float *__restrict a,
                               const float *__restrict b, float *__restrict c) {
  Vector sum[Rows][2];
#pragma unroll
  for (int i = 0; i < Rows; ++i)
    sum[i][0] = sum[i][1] = _mm512_setzero_ps();
  for (int64_t block = 0; block < size; block += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      Vector low = _mm512_loadu_ps(b), high = _mm512_loadu_ps(b + kLanes);
      _mm_prefetch(reinterpret_cast<const char *>(b + 8 * kColumns),
                   _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char *>(b + 8 * kColumns + kLanes),
                   _MM_HINT_T0);
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
        Vector x = constant(a[i * kLanes + k]);
        sum[i][0] = _mm512_fmadd_ps(x, low, sum[i][0]);
        sum[i][1] = _mm512_fmadd_ps(x, high, sum[i][1]);
      }
      b += kColumns;
    }
    a += kRows * kLanes;
  }
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    _mm512_storeu_ps(c + i * kColumns, sum[i][0]);
    _mm512_storeu_ps(c + i * kColumns + kLanes, sum[i][1]);
  }
}

template <int Rows>
INGOT_AVX512 void
multiplyTransposedRows(int64_t size, const float *__restrict a, int64_t aStride,
                       const float *__restrict b, float *__restrict c,
                       bool adds) {
  Vector sum[Rows][2];
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    sum[i][0] = adds ? _mm512_loadu_ps(c + i * kColumns) : _mm512_setzero_ps();
    sum[i][1] =
        adds ? _mm512_loadu_ps(c + i * kColumns + kLanes) : _mm512_setzero_ps();
  }
  for (int64_t k = 0; k < size; ++k) {
    Vector low = _mm512_loadu_ps(b), high = _mm512_loadu_ps(b + kLanes);
    _mm_prefetch(reinterpret_cast<const char *>(a + 8 * aStride), _MM_HINT_T0);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      Vector x = constant(a[i]);
      sum[i][0] = _mm512_fmadd_ps(x, low, sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(x, high, sum[i][1]);
    }
    a += aStride;
    b += kColumns;
  }
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    _mm512_storeu_ps(c + i * kColumns, sum[i][0]);
    _mm512_storeu_ps(c + i * kColumns + kLanes, sum[i][1]);
  }
}

} // namespace

INGOT_AVX512 void ingot::runtime::winograd::transformInput(const Tile &tile,
                                                           float *to,
                                                           int64_t stride) {
  Vector pixels[kPoints], points[kPoints];
  loadTile<kIn>(tile, pixels);
  transform<Input>(pixels, points);
  storePoints(points, to, stride);
}

INGOT_AVX512 void
ingot::runtime::winograd::transformOutputGrad(const Tile &tile, float *to,
                                              int64_t stride) {
  Vector pixels[kOut * kOut], points[kPoints];
  loadTile<kOut>(tile, pixels);
  transform<OutputGrad>(pixels, points);
  storePoints(points, to, stride);
}

INGOT_AVX512 void ingot::runtime::winograd::transformOutput(const float *from,
                                                            int64_t stride,
                                                            const Tile &tile) {
  Vector points[kPoints], pixels[kOut * kOut];
  loadPoints(from, stride, points);
  transform<Output>(points, pixels);
  auto *data = const_cast<float *>(tile.data);
  for (int64_t i = 0; i < tile.lastRow; ++i)
    for (int64_t j = 0; j < tile.lastColumn; ++j)
      _mm512_storeu_ps(data + i * tile.rowStride + j * tile.columnStride,
                       pixels[i * kOut + j]);
}

INGOT_AVX512 void
ingot::runtime::winograd::transformFilter(const float *filter,
                                          int64_t filterStride, bool flipped,
                                          float *to, int64_t stride) {
  __m512i offsets = filterOffsets(filterStride);
  Vector taps[kTaps * kTaps], points[kPoints];
#pragma unroll
  for (int64_t i = 0; i < kTaps * kTaps; ++i)
    taps[i] = _mm512_i32gather_ps(
        offsets, filter + (flipped ? kTaps * kTaps - 1 - i : i), sizeof(float));
  transform<Filter>(taps, points);
  storePoints(points, to, stride);
}

INGOT_AVX512 void ingot::runtime::winograd::transformFilterGrad(
    const float *from, int64_t stride, float *filter, int64_t filterStride) {
  __m512i offsets = filterOffsets(filterStride);
  Vector points[kPoints], taps[kTaps * kTaps];
  loadPoints(from, stride, points);
  transform<FilterGrad>(points, taps);
#pragma unroll
  for (int64_t i = 0; i < kTaps * kTaps; ++i)
    _mm512_i32scatter_ps(filter + i, offsets, taps[i], sizeof(float));
}

void ingot::runtime::winograd::multiply(int64_t rows, int64_t size,
                                        const float *a, const float *b,
                                        float *c) {
  if (rows > 8)
    return multiplyRows<12>(size, a, b, c);
  if (rows > 4)
    return multiplyRows<8>(size, a, b, c);
  multiplyRows<4>(size, a, b, c);
}

void ingot::runtime::winograd::multiplyTransposed(int64_t rows, int64_t size,
                                                  const float *a,
                                                  int64_t aStride,
                                                  const float *b, float *c,
                                                  bool adds) {
  if (rows > 8)
    return multiplyTransposedRows<12>(size, a, aStride, b, c, adds);
  if (rows > 4)
    return multiplyTransposedRows<8>(size, a, aStride, b, c, adds);
  multiplyTransposedRows<4>(size, a, aStride, b, c, adds);
}

#else

using namespace ingot::runtime;
void winograd::transformInput(const Tile &, float *, int64_t) {}
void winograd::transformOutputGrad(const Tile &, float *, int64_t) {}
void winograd::transformOutput(const float *, int64_t, const Tile &) {}
void winograd::transformFilter(const float *, int64_t, bool, float *, int64_t) {
}
void winograd::transformFilterGrad(const float *, int64_t, float *, int64_t) {}
void winograd::multiply(int64_t, int64_t, const float *, const float *,
                        float *) {}
void winograd::multiplyTransposed(int64_t, int64_t, const float *, int64_t,
                                  const float *, float *, bool) {}

#endif
