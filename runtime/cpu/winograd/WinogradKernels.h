// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of Winograd convolution: transforms of one tile for 16
// channels at a time, and the GEMMs between them, compiled once per instruction
// set.
//
// F(4 x 4, 3 x 3): 6 x 6 inputs give 4 x 4 outputs with 36 multiplications
// instead of 144. The points are 0, +-5/8, +-3/2 and infinity: exact in binary,
// and nearly those that amplify the errors of the sums least.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_WINOGRAD_WINOGRADKERNELS_H
#define INGOT_RUNTIME_CPU_WINOGRAD_WINOGRADKERNELS_H

#include "runtime/abi/Abi.h"
#include "runtime/cpu/plan/Blocking.h"

namespace ingot::runtime::winograd {

using Blocking = cpu::WinogradBlocking;
inline constexpr int64_t kPoints = Blocking::kPoints, kIn = Blocking::kIn,
                         kOut = Blocking::kOut, kTaps = Blocking::kTaps,
                         kLanes = Blocking::kLanes,
                         kColumns = Blocking::kColumns, kRows = Blocking::kRows;

/// Elements in memory, in f32 or 16 bits.
struct Elements {
  char *data;
  int32_t type;

  Elements operator+(int64_t count) const {
    return {data + count * (type == INGOT_F32 ? 4 : 2), type};
  }
};

/// A tile of an image whose channels are contiguous. The pixels in rows
/// [firstRow, lastRow) and columns [firstColumn, lastColumn) of the tile exist;
/// `first` is where its first pixel would be.
struct Tile {
  Elements first;
  int64_t rowStride, columnStride;
  int64_t firstRow, lastRow, firstColumn, lastColumn;
};

/// The innermost loops, of one build.
struct Kernels {
  /// Transforms 16 channels of a 6 x 6 tile of the input; writes point p to
  /// to[p * stride].
  void (*transformInput)(const Tile &tile, float *to, int64_t stride);
  /// Transforms 16 channels of a 4 x 4 tile of the output's gradient.
  void (*transformOutputGrad)(const Tile &tile, float *to, int64_t stride);
  /// Transforms 16 channels back to the output: those of the 4 x 4 pixels that
  /// the tile has.
  void (*transformOutput)(const float *from, int64_t stride, const Tile &tile);
  /// Transforms 16 filters of one input channel, which are `filterStride`
  /// apart, rotated by 180 degrees if `flipped`.
  void (*transformFilter)(Elements filter, int64_t filterStride, bool flipped,
                          float *to, int64_t stride);
  /// Transforms back the gradient of 16 filters of one input channel.
  void (*transformFilterGrad)(const float *from, int64_t stride,
                              Elements filter, int64_t filterStride);
  /// Computes c = a x b for up to kRows rows and one panel of columns. `a` has
  /// channels in blocks of kLanes: element (row, k) is a[k / 16][row][k % 16].
  /// b is [k][32], and rows of c are kColumns apart. Rows are written in groups
  /// of four.
  void (*multiply)(int64_t rows, int64_t size, const float *a, const float *b,
                   float *c);
  /// Computes c = a^T x b, or c += a^T x b if `adds`: element (k, row) of a is
  /// a[k * aStride + row]; `rows` is a multiple of four.
  void (*multiplyTransposed)(int64_t rows, int64_t size, const float *a,
                             int64_t aStride, const float *b, float *c,
                             bool adds);
};

extern const Kernels genericKernels;
#ifdef __x86_64__
extern const Kernels avx2Kernels, avx512Kernels;
#endif

} // namespace ingot::runtime::winograd

#endif // INGOT_RUNTIME_CPU_WINOGRAD_WINOGRADKERNELS_H
