// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of depthwise convolution, for vectors of INGOT_LANES.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEVECTORS_H
#define INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEVECTORS_H

#include "runtime/cpu/Vectors.h"

namespace ingot::runtime::depthwise {
namespace {

using namespace vectors;

/// Computes `Pixels` pixels of a vector of channels. Each column that is read
/// is used for all taps.
template <int Pixels, int Taps, int Step>
inline void combinePixels(const Line &line, int64_t pixel, int64_t channel) {
  Vector sums[Pixels];
#pragma unroll
  for (int p = 0; p < Pixels; ++p)
    sums[p] = Vector{};
  for (int64_t row = 0; row < line.rows; ++row) {
    const float *from =
        line.from[row] + pixel * Step * line.columnStep + channel;
    Vector filters[Taps];
#pragma unroll
    for (int t = 0; t < Taps; ++t)
      filters[t] = load(line.filters[row] + t * line.filterStep + channel);
#pragma unroll
    for (int c = 0; c < (Pixels - 1) * Step + Taps;
         ++c, from += line.columnStep) {
      Vector column = load(from);
#pragma unroll
      for (int p = 0; p < Pixels; ++p)
        if (c - p * Step >= 0 && c - p * Step < Taps)
          sums[p] += column * filters[c - p * Step];
    }
  }
  float *to = line.to + pixel * line.toStep + channel;
  int64_t rest = line.channels - channel;
  if (rest >= kLanes) {
#pragma unroll
    for (int p = 0; p < Pixels; ++p)
      store(to + p * line.toStep, sums[p]);
    return;
  }
  for (int p = 0; p < Pixels; ++p)
    for (int64_t l = 0; l < rest; ++l)
      to[p * line.toStep + l] = sums[p][l];
}

/// Computes all pixels; the last ones twice where they do not fill a tile.
template <int Pixels, int Taps, int Step>
inline void combineTiles(const Line &line, int64_t channel) {
  int64_t pixel = 0;
  for (; pixel + Pixels <= line.pixels; pixel += Pixels)
    combinePixels<Pixels, Taps, Step>(line, pixel, channel);
  if (pixel < line.pixels)
    combinePixels<Pixels, Taps, Step>(line, line.pixels - Pixels, channel);
}

template <int Taps, int Step> void combineLine(const Line &line) {
  for (int64_t channel = 0; channel < line.channels; channel += kLanes)
    if (line.pixels >= 7 && line.pixels % 7 == 0 && line.pixels % 8 != 0)
      combineTiles<7, Taps, Step>(line, channel);
    else if (line.pixels >= 8)
      combineTiles<8, Taps, Step>(line, channel);
    else if (line.pixels >= 4)
      combineTiles<4, Taps, Step>(line, channel);
    else
      combineTiles<1, Taps, Step>(line, channel);
}

void combine(const Line &line) {
  bool isDense = line.step == 1;
  switch (line.taps) {
  case 1:
    return combineLine<1, 1>(line);
  case 2:
    return combineLine<2, 1>(line);
  case 3:
    return isDense ? combineLine<3, 1>(line) : combineLine<3, 2>(line);
  case 4:
    return combineLine<4, 1>(line);
  case 5:
    return isDense ? combineLine<5, 1>(line) : combineLine<5, 2>(line);
  case 7:
    return isDense ? combineLine<7, 1>(line) : combineLine<7, 2>(line);
  }
}

/// Rows whose sums, of `taps` taps each, stay in registers.
constexpr int64_t mostRowsOf(int64_t taps) {
  int64_t most = (kLanes == 16 ? 27 : 12) / taps;
  return most >= 5 ? 5 : most == 4 ? 3 : most;
}

template <int Rows, int Taps> void correlateRows(const Correlation &c) {
  for (int64_t channel = 0; channel < c.channels; channel += kLanes) {
    float *to = c.sums + channel;
    Vector sums[Rows][Taps];
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
      for (int t = 0; t < Taps; ++t)
        sums[r][t] = load(to + (r * Taps + t) * c.sumStep);
    for (int64_t line = 0; line < c.lines; ++line) {
      const float *a = c.a[line] + channel, *b[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r)
        b[r] = c.b[r * c.lines + line] + channel;
      for (int64_t p = 0; p < c.pixels; ++p, a += c.aStep) {
        Vector left = load(a);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
#pragma unroll
          for (int t = 0; t < Taps; ++t)
            sums[r][t] += left * load(b[r] + t * c.tapStep);
          b[r] += c.bStep;
        }
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
      for (int t = 0; t < Taps; ++t)
        store(to + (r * Taps + t) * c.sumStep, sums[r][t]);
  }
}

template <int Taps> void correlateTaps(const Correlation &c) {
  if constexpr (mostRowsOf(Taps) >= 5)
    if (c.rows == 5)
      return correlateRows<5, Taps>(c);
  if constexpr (mostRowsOf(Taps) >= 3)
    if (c.rows == 3)
      return correlateRows<3, Taps>(c);
  if constexpr (mostRowsOf(Taps) >= 2)
    if (c.rows == 2)
      return correlateRows<2, Taps>(c);
  correlateRows<1, Taps>(c);
}

void correlate(const Correlation &c) {
  switch (c.taps) {
  case 1:
    return correlateTaps<1>(c);
  case 2:
    return correlateTaps<2>(c);
  case 3:
    return correlateTaps<3>(c);
  case 4:
    return correlateTaps<4>(c);
  case 5:
    return correlateTaps<5>(c);
  case 7:
    return correlateTaps<7>(c);
  }
}

constexpr Kernels kKernels = {{0, mostRowsOf(1), mostRowsOf(2), mostRowsOf(3),
                               mostRowsOf(4), mostRowsOf(5), mostRowsOf(6),
                               mostRowsOf(7)},
                              combine,
                              correlate};

} // namespace
} // namespace ingot::runtime::depthwise

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEVECTORS_H
