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

/// The pixels whose sums stay in registers together, and the taps.
inline constexpr int64_t kPixels = 4, kTaps = 3;

/// The innermost loops, of one build.
struct Kernels {
  /// Computes `pixels` (1 or kPixels) pixels of `channels`, which are toStep
  /// apart: the first is the sum of `count` products rows[i] * filters[i], and
  /// for each other one the rows are rowStep further.
  void (*combine)(int64_t count, const float *const *rows, int64_t rowStep,
                  const float *const *filters, int64_t channels, int64_t pixels,
                  float *to, int64_t toStep);
  /// For each of `channels` and of `taps` (1 or kTaps), adds to `sums` the
  /// products of `count` rows of a and b, which are aStride and bStride apart.
  /// For each tap b is tapStep further, and sums are sumStep further.
  void (*correlate)(int64_t count, const float *a, int64_t aStride,
                    const float *b, int64_t bStride, int64_t channels,
                    int64_t taps, int64_t tapStep, float *sums,
                    int64_t sumStep);
};

extern const Kernels genericKernels;
#ifdef __x86_64__
extern const Kernels avx2Kernels, avx512Kernels;
#endif

} // namespace ingot::runtime::depthwise

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEKERNELS_H
