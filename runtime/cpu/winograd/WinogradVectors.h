// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of Winograd convolution (WinogradKernels.h).
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_WINOGRAD_WINOGRADVECTORS_H
#define INGOT_RUNTIME_CPU_WINOGRAD_WINOGRADVECTORS_H

#include "runtime/cpu/vectors/Vectors.h"

#define WINOGRAD_INLINE __attribute__((always_inline)) static inline

namespace ingot::runtime::winograd {
using namespace vectors;
namespace {

/// Channels of a vector; kLanes of them are transformed in several parts.
constexpr int64_t kWidth = vectors::kLanes;
static_assert(kLanes % kWidth == 0);

// The points, and the divisors of the filter's polynomial at each.
constexpr float kA = 0.625f, kB = 1.5f;
constexpr float kA2 = kA * kA, kB2 = kB * kB;
constexpr float kZeroScale = 1 / (kA2 * kB2);
constexpr float kAScale = 1 / (2 * kA2 * (kA2 - kB2));
constexpr float kBScale = 1 / (2 * kB2 * (kB2 - kA2));

WINOGRAD_INLINE Vector add(Vector x, Vector y) { return x + y; }
WINOGRAD_INLINE Vector sub(Vector x, Vector y) { return x - y; }
WINOGRAD_INLINE Vector scale(float x, Vector y) { return x * y; }
/// Returns sum + x y.
WINOGRAD_INLINE Vector fma(float x, Vector y, Vector sum) {
  return x * y + sum;
}

// Each of these transforms one line; strides are in vectors.

/// B^T: the input's polynomial times those of the other points.
struct Input {
  static constexpr int64_t kFrom = kIn, kTo = kIn;
  WINOGRAD_INLINE void line(const Vector *d, int64_t s, Vector *v, int64_t t) {
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
  WINOGRAD_INLINE void line(const Vector *y, int64_t s, Vector *z, int64_t t) {
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
  WINOGRAD_INLINE void line(const Vector *m, int64_t s, Vector *y, int64_t t) {
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
  WINOGRAD_INLINE void line(const Vector *g, int64_t s, Vector *u, int64_t t) {
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
  WINOGRAD_INLINE void line(const Vector *m, int64_t s, Vector *w, int64_t t) {
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
WINOGRAD_INLINE void transform(const Vector *from, Vector *to) {
  Vector between[Transform::kTo * Transform::kFrom];
#pragma unroll
  for (int64_t i = 0; i < Transform::kFrom; ++i)
    Transform::line(from + i, Transform::kFrom, between + i, Transform::kFrom);
#pragma unroll
  for (int64_t i = 0; i < Transform::kTo; ++i)
    Transform::line(between + i * Transform::kFrom, 1, to + i * Transform::kTo,
                    1);
}

/// Calls `run` with the type of elements as a constant.
template <typename Run> WINOGRAD_INLINE void withType(int32_t type, Run run) {
  if (type == INGOT_BF16)
    return run(Constant<INGOT_BF16>());
  if (type == INGOT_F16)
    return run(Constant<INGOT_F16>());
  run(Constant<INGOT_F32>());
}

template <int Type> WINOGRAD_INLINE Vector widen(HalfWords halves) {
  return Type == INGOT_BF16 ? widenBf16(halves) : widenF16(halves);
}
template <int Type> WINOGRAD_INLINE HalfWords narrow(Vector v) {
  return Type == INGOT_BF16 ? narrowBf16(v) : narrowF16(v);
}

/// Vectors of neighbouring elements of a type, and of elements `stride` apart.
template <int Type> WINOGRAD_INLINE Vector loadElements(Elements from) {
  if constexpr (Type == INGOT_F32)
    return load(reinterpret_cast<const float *>(from.data));
  else
    return widen<Type>(*reinterpret_cast<const HalfWords *>(from.data));
}
template <int Type> WINOGRAD_INLINE void storeElements(Elements to, Vector v) {
  if constexpr (Type == INGOT_F32)
    store(reinterpret_cast<float *>(to.data), v);
  else
    *reinterpret_cast<HalfWords *>(to.data) = narrow<Type>(v);
}
template <int Type>
WINOGRAD_INLINE Vector gatherElements(Elements from, int64_t stride) {
  if constexpr (Type == INGOT_F32) {
    const auto *elements = reinterpret_cast<const float *>(from.data);
    Vector v;
#pragma unroll
    for (int64_t l = 0; l < kWidth; ++l)
      v[l] = elements[l * stride];
    return v;
  } else {
    const auto *elements = reinterpret_cast<const uint16_t *>(from.data);
    HalfWords halves;
#pragma unroll
    for (int64_t l = 0; l < kWidth; ++l)
      halves[l] = elements[l * stride];
    return widen<Type>(halves);
  }
}
template <int Type>
WINOGRAD_INLINE void scatterElements(Elements to, int64_t stride, Vector v) {
  if constexpr (Type == INGOT_F32) {
    auto *elements = reinterpret_cast<float *>(to.data);
#pragma unroll
    for (int64_t l = 0; l < kWidth; ++l)
      elements[l * stride] = v[l];
  } else {
    auto *elements = reinterpret_cast<uint16_t *>(to.data);
    HalfWords halves = narrow<Type>(v);
#pragma unroll
    for (int64_t l = 0; l < kWidth; ++l)
      elements[l * stride] = halves[l];
  }
}

/// The pixels of a tile in the part of the channels from `channel` on.
template <int64_t Size, int Type>
WINOGRAD_INLINE void loadTile(const Tile &tile, int64_t channel,
                              Vector *pixels) {
  bool isWhole = tile.firstRow == 0 && tile.lastRow == Size &&
                 tile.firstColumn == 0 && tile.lastColumn == Size;
  for (int64_t i = 0; i < Size; ++i) {
    Elements row = tile.first + (i * tile.rowStride + channel);
    if (isWhole) {
#pragma unroll
      for (int64_t j = 0; j < Size; ++j)
        pixels[i * Size + j] = loadElements<Type>(row + j * tile.columnStride);
      continue;
    }
    bool isInside = i >= tile.firstRow && i < tile.lastRow;
    for (int64_t j = 0; j < Size; ++j)
      pixels[i * Size + j] =
          isInside && j >= tile.firstColumn && j < tile.lastColumn
              ? loadElements<Type>(row + j * tile.columnStride)
              : Vector{};
  }
}

WINOGRAD_INLINE void storePoints(const Vector *points, float *to,
                                 int64_t stride) {
#pragma unroll
  for (int64_t p = 0; p < kPoints; ++p)
    store(to + p * stride, points[p]);
}

WINOGRAD_INLINE void loadPoints(const float *from, int64_t stride,
                                Vector *points) {
#pragma unroll
  for (int64_t p = 0; p < kPoints; ++p)
    points[p] = load(from + p * stride);
}

template <typename Transform, int Type>
void transformTile(const Tile &tile, float *to, int64_t stride) {
  for (int64_t c = 0; c < kLanes; c += kWidth) {
    Vector pixels[Transform::kFrom * Transform::kFrom], points[kPoints];
    loadTile<Transform::kFrom, Type>(tile, c, pixels);
    transform<Transform>(pixels, points);
    storePoints(points, to + c, stride);
  }
}

template <typename Transform>
void transformAnyTile(const Tile &tile, float *to, int64_t stride) {
  withType(tile.first.type, [&](auto type) {
    transformTile<Transform, type>(tile, to, stride);
  });
}

template <int Type>
void transformOutput(const float *from, int64_t stride, const Tile &tile) {
  for (int64_t c = 0; c < kLanes; c += kWidth) {
    Vector points[kPoints], pixels[kOut * kOut];
    loadPoints(from + c, stride, points);
    transform<Output>(points, pixels);
    for (int64_t i = 0; i < tile.lastRow; ++i)
      for (int64_t j = 0; j < tile.lastColumn; ++j)
        storeElements<Type>(
            tile.first + (i * tile.rowStride + j * tile.columnStride + c),
            pixels[i * kOut + j]);
  }
}

void transformAnyOutput(const float *from, int64_t stride, const Tile &tile) {
  withType(tile.first.type,
           [&](auto type) { transformOutput<type>(from, stride, tile); });
}

template <int Type>
void transformFilter(Elements filter, int64_t filterStride, bool flipped,
                     float *to, int64_t stride) {
  constexpr int64_t count = kTaps * kTaps;
  for (int64_t c = 0; c < kLanes; c += kWidth) {
    Vector taps[count], points[kPoints];
    for (int64_t i = 0; i < count; ++i)
      taps[i] = gatherElements<Type>(
          filter + (c * filterStride + (flipped ? count - 1 - i : i)),
          filterStride);
    transform<Filter>(taps, points);
    storePoints(points, to + c, stride);
  }
}

void transformAnyFilter(Elements filter, int64_t filterStride, bool flipped,
                        float *to, int64_t stride) {
  withType(filter.type, [&](auto type) {
    transformFilter<type>(filter, filterStride, flipped, to, stride);
  });
}

template <int Type>
void transformFilterGrad(const float *from, int64_t stride, Elements filter,
                         int64_t filterStride) {
  constexpr int64_t count = kTaps * kTaps;
  for (int64_t c = 0; c < kLanes; c += kWidth) {
    Vector points[kPoints], taps[count];
    loadPoints(from + c, stride, points);
    transform<FilterGrad>(points, taps);
    for (int64_t i = 0; i < count; ++i)
      scatterElements<Type>(filter + (c * filterStride + i), filterStride,
                            taps[i]);
  }
}

void transformAnyFilterGrad(const float *from, int64_t stride, Elements filter,
                            int64_t filterStride) {
  withType(filter.type, [&](auto type) {
    transformFilterGrad<type>(from, stride, filter, filterStride);
  });
}

/// The rows of a tile whose sums stay in registers, with two vectors each; of
/// the product of channels, with AVX-512, twice: sums of a part, and of all.
constexpr int kTileRows = 6, kTransposedTileRows = kWidth == 16 ? kRows : 6;

/// Products summed before they are added to other sums. One sum over many
/// channels or tiles is the largest part of the error: with partial sums it
/// grows like the square root of their length plus their number, and not like
/// that of the product. Where there are too few registers for both sums, adding
/// more often would take a tenth longer, and for tiles, of which there are
/// more, a fifth.
constexpr int64_t kPartialChannels = (kWidth == 16 ? 1 : 2) * kLanes,
                  kPartialTiles = 4 * kLanes;
/// Channels whose filters stay in the L1 cache for all rows of a tile.
constexpr int64_t kNearChannels = 8 * kLanes;

/// The length of equal parts of about kPartialTiles tiles: a block has some
/// more than a multiple of them, which are not worth a part of their own.
WINOGRAD_INLINE int64_t dividePart(int64_t tiles) {
  int64_t parts = (tiles + kPartialTiles / 2) / kPartialTiles;
  return parts > 1 ? (tiles + parts - 1) / parts : tiles;
}

/// Writes the sums of a tile to c, or adds them to it.
template <int Rows>
WINOGRAD_INLINE void flush(const Vector (&sum)[Rows][2], float *c, bool adds) {
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    float *row = c + i * kColumns;
    store(row, adds ? load(row) + sum[i][0] : sum[i][0]);
    store(row + kWidth, adds ? load(row + kWidth) + sum[i][1] : sum[i][1]);
  }
}

template <int Rows>
void multiplyRows(int64_t size, const float *__restrict a,
                  const float *__restrict b, float *__restrict c, bool adds) {
  Vector sum[Rows][2] = {};
  for (int64_t start = 0; start < size; start += kPartialChannels) {
    Vector part[Rows][2] = {};
    int64_t end =
        start + kPartialChannels < size ? start + kPartialChannels : size;
    for (int64_t block = start; block < end; block += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) {
        Vector low = load(b), high = load(b + kWidth);
        __builtin_prefetch(b + 8 * kColumns);
        if constexpr (kWidth == 16)
          __builtin_prefetch(b + 8 * kColumns + kWidth);
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
          part[i][0] += a[i * kLanes + k] * low;
          part[i][1] += a[i * kLanes + k] * high;
        }
        b += kColumns;
      }
      a += kRows * kLanes;
    }
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      sum[i][0] += part[i][0];
      sum[i][1] += part[i][1];
    }
  }
  flush(sum, c, adds);
}

template <int Rows>
void multiplyTransposedRows(int64_t size, const float *__restrict a,
                            int64_t aStride, const float *__restrict b,
                            float *__restrict c, bool adds) {
  int64_t part = dividePart(size);
  for (int64_t start = 0; start < size; start += part) {
    Vector sum[Rows][2] = {};
    int64_t end = start + part < size ? start + part : size;
    for (int64_t k = start; k < end; ++k) {
      Vector low = load(b), high = load(b + kWidth);
      __builtin_prefetch(a + 8 * aStride);
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
        sum[i][0] += a[i] * low;
        sum[i][1] += a[i] * high;
      }
      a += aStride;
      b += kColumns;
    }
    flush(sum, c, adds || start != 0);
  }
}

/// Calls `run(count, row)` for rows in tiles of at most `Most`, in groups of
/// four.
template <int Most, typename Run>
WINOGRAD_INLINE void forEachTile(int64_t rows, Run run) {
  rows = abi::alignTo(rows, 4);
  int64_t row = 0;
  if (rows == kRows)
    for (; row < rows; row += Most)
      run(Constant<Most>(), row);
  if constexpr (Most > 8)
    for (; rows - row == 8; row += 8)
      run(Constant<8>(), row);
  for (; row < rows; row += 4)
    run(Constant<4>(), row);
}

void multiply(int64_t rows, int64_t size, const float *a, const float *b,
              float *c) {
  for (int64_t w = 0; w < kColumns; w += 2 * kWidth)
    for (int64_t start = 0; start < size; start += kNearChannels) {
      int64_t count =
          size - start < kNearChannels ? size - start : kNearChannels;
      forEachTile<kTileRows>(rows, [&](auto tileRows, int64_t row) {
        multiplyRows<tileRows>(count, a + start * kRows + row * kLanes,
                               b + start * kColumns + w, c + row * kColumns + w,
                               start != 0);
      });
    }
}

void multiplyTransposed(int64_t rows, int64_t size, const float *a,
                        int64_t aStride, const float *b, float *c, bool adds) {
  for (int64_t w = 0; w < kColumns; w += 2 * kWidth)
    forEachTile<kTransposedTileRows>(rows, [&](auto count, int64_t row) {
      multiplyTransposedRows<count>(size, a + row, aStride, b + w,
                                    c + row * kColumns + w, adds);
    });
}

constexpr Kernels kKernels = {
    transformAnyTile<Input>, transformAnyTile<OutputGrad>, transformAnyOutput,
    transformAnyFilter,      transformAnyFilterGrad,       multiply,
    multiplyTransposed};

} // namespace
} // namespace ingot::runtime::winograd

#undef WINOGRAD_INLINE

#endif // INGOT_RUNTIME_CPU_WINOGRAD_WINOGRADVECTORS_H
