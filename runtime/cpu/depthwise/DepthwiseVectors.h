// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of depthwise convolution, for vectors of INGOT_LANES.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEVECTORS_H
#define INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEVECTORS_H

#include "runtime/cpu/Vectors.h"

namespace ingot::runtime::depthwise {
namespace {

using namespace vectors;

/// The vectors of channels of a pixel or tap that stay in registers.
constexpr int kVectors = 2;

/// Combines `Count` vectors of channels of `Pixels` pixels.
template <int Pixels, int Count>
inline void combineVectors(int64_t count, const float *const *rows,
                           int64_t rowStep, const float *const *filters,
                           int64_t channel, float *to, int64_t toStep) {
  Vector sums[Pixels][Count];
#pragma unroll
  for (int p = 0; p < Pixels; ++p)
#pragma unroll
    for (int v = 0; v < Count; ++v)
      sums[p][v] = Vector{};
  for (int64_t i = 0; i < count; ++i) {
    const float *row = rows[i] + channel, *filter = filters[i] + channel;
#pragma unroll
    for (int v = 0; v < Count; ++v) {
      Vector tap = load(filter + v * kLanes);
#pragma unroll
      for (int p = 0; p < Pixels; ++p)
        sums[p][v] += load(row + p * rowStep + v * kLanes) * tap;
    }
  }
#pragma unroll
  for (int p = 0; p < Pixels; ++p)
#pragma unroll
    for (int v = 0; v < Count; ++v)
      store(to + p * toStep + channel + v * kLanes, sums[p][v]);
}

template <int Pixels>
inline void combinePixels(int64_t count, const float *const *rows,
                          int64_t rowStep, const float *const *filters,
                          int64_t channels, float *to, int64_t toStep) {
  int64_t channel = 0;
  for (; channel + kVectors * kLanes <= channels; channel += kVectors * kLanes)
    combineVectors<Pixels, kVectors>(count, rows, rowStep, filters, channel, to,
                                     toStep);
  for (; channel + kLanes <= channels; channel += kLanes)
    combineVectors<Pixels, 1>(count, rows, rowStep, filters, channel, to,
                              toStep);
  for (; channel < channels; ++channel)
    for (int p = 0; p < Pixels; ++p) {
      float sum = 0;
      for (int64_t i = 0; i < count; ++i)
        sum += rows[i][p * rowStep + channel] * filters[i][channel];
      to[p * toStep + channel] = sum;
    }
}

inline void combine(int64_t count, const float *const *rows, int64_t rowStep,
                    const float *const *filters, int64_t channels,
                    int64_t pixels, float *to, int64_t toStep) {
  if (pixels == kPixels)
    return combinePixels<kPixels>(count, rows, rowStep, filters, channels, to,
                                  toStep);
  combinePixels<1>(count, rows, rowStep, filters, channels, to, toStep);
}

/// Correlates `Count` vectors of channels for `Taps` taps.
template <int Taps, int Count>
inline void correlateVectors(int64_t count, const float *a, int64_t aStride,
                             const float *b, int64_t bStride, int64_t tapStep,
                             float *sums, int64_t sumStep) {
  Vector sum[Taps][Count];
#pragma unroll
  for (int t = 0; t < Taps; ++t)
#pragma unroll
    for (int v = 0; v < Count; ++v)
      sum[t][v] = load(sums + t * sumStep + v * kLanes);
  for (int64_t i = 0; i < count; ++i, a += aStride, b += bStride) {
#pragma unroll
    for (int v = 0; v < Count; ++v) {
      Vector left = load(a + v * kLanes);
#pragma unroll
      for (int t = 0; t < Taps; ++t)
        sum[t][v] += left * load(b + t * tapStep + v * kLanes);
    }
  }
#pragma unroll
  for (int t = 0; t < Taps; ++t)
#pragma unroll
    for (int v = 0; v < Count; ++v)
      store(sums + t * sumStep + v * kLanes, sum[t][v]);
}

template <int Taps>
inline void correlateTaps(int64_t count, const float *a, int64_t aStride,
                          const float *b, int64_t bStride, int64_t channels,
                          int64_t tapStep, float *sums, int64_t sumStep) {
  int64_t channel = 0;
  for (; channel + kVectors * kLanes <= channels; channel += kVectors * kLanes)
    correlateVectors<Taps, kVectors>(count, a + channel, aStride, b + channel,
                                     bStride, tapStep, sums + channel, sumStep);
  for (; channel + kLanes <= channels; channel += kLanes)
    correlateVectors<Taps, 1>(count, a + channel, aStride, b + channel, bStride,
                              tapStep, sums + channel, sumStep);
  for (; channel < channels; ++channel)
    for (int t = 0; t < Taps; ++t)
      for (int64_t i = 0; i < count; ++i)
        sums[t * sumStep + channel] +=
            a[i * aStride + channel] * b[i * bStride + t * tapStep + channel];
}

inline void correlate(int64_t count, const float *a, int64_t aStride,
                      const float *b, int64_t bStride, int64_t channels,
                      int64_t taps, int64_t tapStep, float *sums,
                      int64_t sumStep) {
  if (taps == kTaps)
    return correlateTaps<kTaps>(count, a, aStride, b, bStride, channels,
                                tapStep, sums, sumStep);
  correlateTaps<1>(count, a, aStride, b, bStride, channels, tapStep, sums,
                   sumStep);
}

} // namespace
} // namespace ingot::runtime::depthwise

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEVECTORS_H
