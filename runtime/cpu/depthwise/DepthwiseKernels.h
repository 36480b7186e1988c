// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of depthwise convolution, over channels that come last,
// compiled once per instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEKERNELS_H
#define INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEKERNELS_H

#include <cstdint>

namespace ingot::runtime::depthwise {

/// The most neighbouring taps that kernels combine.
inline constexpr int64_t kTaps = 7;
/// The most taps of a row in groups of several channels.
inline constexpr int64_t kGroupTaps = 3;

/// A row of `pixels` results, toStep apart: pixel p is the sum, over `rows`
/// rows and over `taps` taps, of the column p * step + tap, columnStep apart,
/// times the tap's filters, filterStep apart. In groups of `inputs` channels it
/// is also summed over these: filters for each are inputStep apart.
struct Line {
  int64_t rows, taps, step, inputs;
  const float *const *from;
  int64_t columnStep;
  const float *const *filters;
  int64_t filterStep, inputStep;
  int64_t channels, pixels;
  float *to;
  int64_t toStep;
  /// Whether results are stored past the caches, which they are aligned for.
  bool streams;
};

/// Sums for `rows` rows, rowStep apart, of `taps` taps, sumStep apart, to which
/// the products of `lines` lines of `pixels` pixels are added: of a[line],
/// aStep apart, and b[row * lines + line], bStep apart, of which each tap's are
/// tapStep further. In groups of `inputs` channels there are sums for each of
/// these in `b`, inputStep apart.
struct Correlation {
  int64_t lines, rows, taps, inputs;
  const float *const *a;
  int64_t aStep;
  const float *const *b;
  int64_t bStep, tapStep;
  int64_t channels, pixels;
  float *sums;
  int64_t sumStep, rowStep, inputStep;
};

/// The innermost loops, of one build. Whole vectors of channels are read and of
/// sums also written; of results, the channels only.
struct Kernels {
  /// The elements of a vector.
  int64_t lanes;
  /// The most rows of a correlation by its number of taps.
  int64_t mostRows[kTaps + 1];
  /// For 1 to 7 taps; where the step is not 1, for 1, 3, 5 or 7.
  void (*combine)(const Line &line);
  /// For 1 to 7 taps, of 1, 2, 3 or 5 rows.
  void (*correlate)(const Correlation &correlation);
  /// The kernels for groups of 4, 8 or 16 channels: for 1 to 3 taps, or 1 or 3,
  /// and for 1 to 3 taps of one row.
  void (*combineGroups)(const Line &line);
  void (*correlateGroups)(const Correlation &correlation);
};

extern const Kernels genericKernels;
#ifdef __x86_64__
extern const Kernels avx512Kernels;
/// The build for AVX2. CPUs with AVX-512 run it, too, where its vectors are too
/// wide: trainers for such CPUs have it under this name.
extern const Kernels narrowKernels;
inline constexpr const Kernels &avx2Kernels = narrowKernels;
#endif

} // namespace ingot::runtime::depthwise

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEKERNELS_H
