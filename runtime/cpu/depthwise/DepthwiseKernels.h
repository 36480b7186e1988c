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

/// A row of `pixels` results, toStep apart: pixel p is the sum, over `rows`
/// rows and over `taps` taps, of the column p * step + tap, columnStep apart,
/// times the tap's filters, filterStep apart.
struct Line {
  int64_t rows, taps, step;
  const float *const *from;
  int64_t columnStep;
  const float *const *filters;
  int64_t filterStep;
  int64_t channels, pixels;
  float *to;
  int64_t toStep;
};

/// Sums for `rows` rows of `taps` taps, sumStep apart, to which the products of
/// `lines` lines of `pixels` pixels are added: of a[line], aStep apart, and
/// b[row * lines + line], bStep apart, of which each tap's are tapStep further.
struct Correlation {
  int64_t lines, rows, taps;
  const float *const *a;
  int64_t aStep;
  const float *const *b;
  int64_t bStep, tapStep;
  int64_t channels, pixels;
  float *sums;
  int64_t sumStep;
};

/// The innermost loops, of one build. Whole vectors of channels are read and of
/// sums also written; of results, the channels only.
struct Kernels {
  /// The most rows of a correlation by its number of taps.
  int64_t mostRows[kTaps + 1];
  /// For 1 to 7 taps but 6; where the step is not 1, for 1, 3, 5 or 7.
  void (*combine)(const Line &line);
  /// For 1 to 7 taps but 6, of 1, 2, 3 or 5 rows.
  void (*correlate)(const Correlation &correlation);
};

extern const Kernels genericKernels;
#ifdef __x86_64__
extern const Kernels avx2Kernels, avx512Kernels;
#endif

} // namespace ingot::runtime::depthwise

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEKERNELS_H
