// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of direct convolution: products whose left operand is
// read where it is, compiled once per instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DIRECT_KERNELS_DIRECTKERNELS_H
#define INGOT_RUNTIME_CPU_DIRECT_KERNELS_DIRECTKERNELS_H

#include <cstdint>

namespace ingot::runtime::direct {

/// A tile of a product that is summed over segments: c[row][column] is, or
/// grows by, the sum of a[segment][row, i] * b[segment][i, column] over the
/// segments and over i < length. Rows of b are `vectors` vectors.
struct Tile {
  /// Elements, or pairs of elements in bf16 where the kernels multiply those.
  int64_t segments, length;
  const float *const *a;
  const float *const *b;
  /// The offset that is added to each pointer.
  int64_t aOffset, bOffset;
  /// The distance of elements of `a`: from one i to the next where columns are
  /// contiguous, else from one row to the next.
  int64_t aStep;
  /// Where columns of `a` are contiguous, the distance of rows of `b`, of which
  /// whole vectors are read; else they are one after the other.
  int64_t bStep;
  float *c;
  /// Where sums of pairs are rounded to, instead of `c`; not with `adds`.
  uint16_t *rounded;
  int64_t cStep;
  /// Columns that are written; at most those of all vectors.
  int64_t columns;
  int64_t rows, vectors;
  bool adds;
  /// Whether whole rows of `c` are stored past the caches, which they are
  /// aligned for; not with `adds`.
  bool streams;
};

/// The innermost loops, of one build.
struct Kernels {
  /// The elements of a vector.
  int64_t lanes;
  /// The most rows of a tile by its number of vectors: 1, 2 or 4.
  int64_t mostRows[5];
  /// Multiplies where the elements of a row of `a` are contiguous, and where
  /// those of a column are.
  void (*multiplyRows)(const Tile &tile);
  void (*multiplyColumns)(const Tile &tile);
};

extern const Kernels genericKernels;
#ifdef __x86_64__
extern const Kernels avx512Kernels;
/// The build for AVX2. CPUs with AVX-512 run it, too, where its vectors are too
/// wide: trainers for such CPUs have it under this name.
extern const Kernels narrowKernels;
inline constexpr const Kernels &avx2Kernels = narrowKernels;
/// For CPUs with AVX512-BF16: elements of `a` and `b` are pairs of bf16, whose
/// two products are added at once; numbers that are subnormal in f32 count as
/// zero.
extern const Kernels dotKernels;
/// For tile units (runtime::hasTileUnits), of pairs as well.
extern const Kernels tileKernels;
#endif

} // namespace ingot::runtime::direct

#endif // INGOT_RUNTIME_CPU_DIRECT_KERNELS_DIRECTKERNELS_H
