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

#include "runtime/cpu/vectors/Vectors.h"

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
    const bool isNew = Pixels > 1 && row + Step >= line.rows;
#pragma unroll
    for (int c = 0; c < (Pixels - 1) * Step + Taps;
         ++c, from += line.columnStep) {
      Vector column = load(from);
      // Of rows that the row of results before did not read, the next tile;
      // with strides, a tile has too many columns.
      if (isNew && Step == 1)
        __builtin_prefetch(from + Pixels * Step * line.columnStep);
#pragma unroll
      for (int p = 0; p < Pixels; ++p)
        if (c - p * Step >= 0 && c - p * Step < Taps)
          sums[p] += column * filters[c - p * Step];
    }
  }
  float *to = line.to + pixel * line.toStep + channel;
  int64_t rest = line.channels - channel;
  if (line.streams) {
#pragma unroll
    for (int p = 0; p < Pixels; ++p)
      stream(to + p * line.toStep, sums[p]);
    return;
  }
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
/// Along memory: the channels of a tile of pixels first.
template <int Pixels, int Taps, int Step>
inline void combineTiles(const Line &line) {
  for (int64_t pixel = 0; pixel < line.pixels; pixel += Pixels) {
    int64_t first = smaller(pixel, line.pixels - Pixels);
    for (int64_t channel = 0; channel < line.channels; channel += kLanes)
      combinePixels<Pixels, Taps, Step>(line, first, channel);
  }
}

template <int Taps, int Step> void combineLine(const Line &line) {
  if (line.pixels >= 7 && line.pixels % 7 == 0 && line.pixels % 8 != 0)
    combineTiles<7, Taps, Step>(line);
  else if (line.pixels >= 8)
    combineTiles<8, Taps, Step>(line);
  else if (line.pixels >= 4)
    combineTiles<4, Taps, Step>(line);
  else
    combineTiles<1, Taps, Step>(line);
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
  case 6:
    return combineLine<6, 1>(line);
  case 7:
    return isDense ? combineLine<7, 1>(line) : combineLine<7, 2>(line);
  }
}

/// Rows whose sums, of `taps` taps each, stay in registers.
constexpr int64_t mostRowsOf(int64_t taps) {
  int64_t most = (kLanes == 16 ? 27 : 12) / taps;
  return most >= 5 ? 5 : most == 4 ? 3 : most;
}

/// Adds to the sums of `Vectors` vectors of channels.
template <int Rows, int Taps, int Vectors>
void correlateVectors(const Correlation &c, int64_t channel) {
  float *to = c.sums + channel;
  Vector sums[Rows][Taps][Vectors];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int t = 0; t < Taps; ++t)
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
        sums[r][t][v] = load(to + r * c.rowStep + t * c.sumStep + v * kLanes);
  for (int64_t line = 0; line < c.lines; ++line) {
    const float *a = c.a[line] + channel, *b[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r)
      b[r] = c.b[r * c.lines + line] + channel;
    for (int64_t p = 0; p < c.pixels; ++p, a += c.aStep) {
      Vector left[Vectors];
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
        left[v] = load(a + v * kLanes);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int t = 0; t < Taps; ++t)
#pragma unroll
          for (int v = 0; v < Vectors; ++v)
            sums[r][t][v] += left[v] * load(b[r] + t * c.tapStep + v * kLanes);
        b[r] += c.bStep;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int t = 0; t < Taps; ++t)
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
        store(to + r * c.rowStep + t * c.sumStep + v * kLanes, sums[r][t][v]);
}

/// Correlates neighbouring vectors of channels, up to the number that registers
/// hold sums for: memory is then read in longer pieces.
template <int Rows, int Taps> void correlateRows(const Correlation &c) {
  constexpr int fitting = (kLanes == 16 ? 27 : 12) / (Rows * Taps);
  constexpr int vectors = fitting > 3 ? 3 : fitting > 1 ? fitting : 1;
  int64_t channel = 0;
  for (; channel + (vectors - 1) * kLanes < c.channels;
       channel += vectors * kLanes)
    correlateVectors<Rows, Taps, vectors>(c, channel);
  for (; channel < c.channels; channel += kLanes)
    correlateVectors<Rows, Taps, 1>(c, channel);
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
  case 6:
    return correlateTaps<6>(c);
  case 7:
    return correlateTaps<7>(c);
  }
}

//===----------------------------------------------------------------------===//
// Groups of several channels
//===----------------------------------------------------------------------===//

template <int Inputs, int Input, int... L>
inline Vector spreadLanes(Vector v, Sequence<L...>) {
  return __builtin_shufflevector(v, v, (L / Inputs * Inputs + Input)...);
}

/// Calls `use(input, spread)` for `Count` channels of each group from `First`
/// on, where spread(from) is a vector of channels in which each lane has the
/// value of the channel `input` of its group. Groups are no wider than a
/// vector, whose lanes are exchanged, or are read one by one.
template <int Inputs, int First, int Count, typename Use>
__attribute__((always_inline)) inline void forEachInput(int64_t channel,
                                                        Use use) {
  if constexpr (Inputs < kLanes) {
    use(First, [](const float *from) __attribute__((always_inline)) {
      return spreadLanes<Inputs, First>(load(from), Lanes<INGOT_LANES>());
    });
    if constexpr (Count > 1)
      forEachInput<Inputs, First + 1, Count - 1>(channel, use);
  } else {
#pragma unroll
    for (int64_t i = First; i < First + Count; ++i) {
      int64_t offset = i - channel % Inputs;
      use(i, [offset](const float *from) __attribute__((always_inline)) {
        return Vector{} + from[offset];
      });
    }
  }
}

template <int Inputs, int Pixels, int Taps, int Step>
inline void combineGroupPixels(const Line &line, int64_t pixel,
                               int64_t channel) {
  Vector sums[Pixels];
#pragma unroll
  for (int p = 0; p < Pixels; ++p)
    sums[p] = Vector{};
  for (int64_t row = 0; row < line.rows; ++row) {
    const float *first =
        line.from[row] + pixel * Step * line.columnStep + channel;
    const float *taps = line.filters[row] + channel;
    forEachInput<Inputs, 0, Inputs>(
        channel,
        [&](int64_t input, auto spread) __attribute__((always_inline)) {
          Vector filters[Taps];
#pragma unroll
          for (int t = 0; t < Taps; ++t)
            filters[t] =
                load(taps + t * line.filterStep + input * line.inputStep);
          const float *from = first;
#pragma unroll
          for (int c = 0; c < (Pixels - 1) * Step + Taps;
               ++c, from += line.columnStep) {
            Vector column = spread(from);
#pragma unroll
            for (int p = 0; p < Pixels; ++p)
              if (c - p * Step >= 0 && c - p * Step < Taps)
                sums[p] += column * filters[c - p * Step];
          }
        });
  }
  float *to = line.to + pixel * line.toStep + channel;
#pragma unroll
  for (int p = 0; p < Pixels; ++p)
    if (line.streams)
      stream(to + p * line.toStep, sums[p]);
    else
      store(to + p * line.toStep, sums[p]);
}

/// Filters of a vector of channels stay in the L1 cache for a row.
template <int Inputs, int Taps, int Step>
void combineGroupLine(const Line &line) {
  for (int64_t channel = 0; channel < line.channels; channel += kLanes) {
    auto run = [&](auto pixels) {
      for (int64_t pixel = 0; pixel < line.pixels; pixel += pixels)
        combineGroupPixels<Inputs, pixels, Taps, Step>(
            line, smaller(pixel, line.pixels - pixels), channel);
    };
    if (line.pixels >= 7 && line.pixels % 7 == 0 && line.pixels % 8 != 0)
      run(Constant<7>());
    else if (line.pixels >= 8)
      run(Constant<8>());
    else if (line.pixels >= 4)
      run(Constant<4>());
    else
      run(Constant<1>());
  }
}

template <int Inputs> void combineGroupsOf(const Line &line) {
  bool isDense = line.step == 1;
  if (line.taps == 1)
    return combineGroupLine<Inputs, 1, 1>(line);
  if (line.taps == 2)
    return combineGroupLine<Inputs, 2, 1>(line);
  return isDense ? combineGroupLine<Inputs, 3, 1>(line)
                 : combineGroupLine<Inputs, 3, 2>(line);
}

void combineGroups(const Line &line) {
  if (line.inputs == 4)
    return combineGroupsOf<4>(line);
  if (line.inputs == 8)
    return combineGroupsOf<8>(line);
  combineGroupsOf<16>(line);
}

/// Sums for `Count` channels of each group from `First` on.
template <int Inputs, int First, int Count, int Taps>
void correlateInputs(const Correlation &c, int64_t channel) {
  float *to = c.sums + channel;
  Vector sums[Taps][Count];
#pragma unroll
  for (int t = 0; t < Taps; ++t)
#pragma unroll
    for (int i = 0; i < Count; ++i)
      sums[t][i] = load(to + t * c.sumStep + (First + i) * c.inputStep);
  for (int64_t line = 0; line < c.lines; ++line) {
    const float *a = c.a[line] + channel, *b = c.b[line] + channel;
    for (int64_t p = 0; p < c.pixels; ++p, a += c.aStep, b += c.bStep) {
      Vector left = load(a);
#pragma unroll
      for (int t = 0; t < Taps; ++t)
        forEachInput<Inputs, First, Count>(
            channel,
            [&](int64_t input, auto spread) __attribute__((always_inline)) {
              sums[t][input - First] += spread(b + t * c.tapStep) * left;
            });
    }
  }
#pragma unroll
  for (int t = 0; t < Taps; ++t)
#pragma unroll
    for (int i = 0; i < Count; ++i)
      store(to + t * c.sumStep + (First + i) * c.inputStep, sums[t][i]);
  // Sums of more channels than registers hold read both operands again.
  if constexpr (First + Count < Inputs)
    correlateInputs<Inputs, First + Count, Count, Taps>(c, channel);
}

template <int Inputs> void correlateGroupsOf(const Correlation &c) {
  constexpr int count = INGOT_LANES == 16 && Inputs > 4 ? 8 : 4;
  for (int64_t channel = 0; channel < c.channels; channel += kLanes)
    if (c.taps == 1)
      correlateInputs<Inputs, 0, count, 1>(c, channel);
    else if (c.taps == 2)
      correlateInputs<Inputs, 0, count, 2>(c, channel);
    else
      correlateInputs<Inputs, 0, count, 3>(c, channel);
}

void correlateGroups(const Correlation &c) {
  if (c.inputs == 4)
    return correlateGroupsOf<4>(c);
  if (c.inputs == 8)
    return correlateGroupsOf<8>(c);
  correlateGroupsOf<16>(c);
}

constexpr Kernels kKernels = {kLanes,
                              {0, mostRowsOf(1), mostRowsOf(2), mostRowsOf(3),
                               mostRowsOf(4), mostRowsOf(5), mostRowsOf(6),
                               mostRowsOf(7)},
                              combine,
                              correlate,
                              combineGroups,
                              correlateGroups};

} // namespace
} // namespace ingot::runtime::depthwise

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEVECTORS_H
