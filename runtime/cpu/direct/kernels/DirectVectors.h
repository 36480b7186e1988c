// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of direct convolution, for vectors of INGOT_LANES.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DIRECT_KERNELS_DIRECTVECTORS_H
#define INGOT_RUNTIME_CPU_DIRECT_KERNELS_DIRECTVECTORS_H

#include "runtime/cpu/vectors/Vectors.h"

namespace ingot::runtime::direct {
namespace {

using namespace vectors;

/// Products that are summed before they are added to the sums of earlier ones.
/// The error of one sum over many grows with the root of their number; at this
/// length it is as small as that of libraries that sum blocks of channels, and
/// the additions take no time that can be measured.
constexpr int64_t kPart = 64;

/// The most rows of a tile, whose sums take 28 of 32 registers or 12 of 16.
constexpr int kSumRows = INGOT_LANES == 16 ? 14 : 6;
constexpr int mostRowsOf(int vectors) {
  return vectors == 1 ? (INGOT_LANES == 16 ? kSumRows : 2 * kSumRows)
                      : 2 * kSumRows / vectors;
}

/// Copies `count` elements, fewer than twice `Step`.
template <int Step = INGOT_LANES / 2>
inline void copyFirst(const float *from, float *to, int64_t count) {
  if (count & Step) {
    __builtin_memcpy(to, from, Step * sizeof(float));
    from += Step;
    to += Step;
  }
  if constexpr (Step > 1)
    copyFirst<Step / 2>(from, to, count);
}

/// Writes the first `columns` elements, or adds to them.
inline void storeColumns(float *to, Vector v, int64_t columns, bool adds) {
  if (columns <= 0)
    return;
  if (columns >= kLanes)
    return store(to, adds ? load(to) + v : v);
  float room[kLanes] = {};
  if (adds) {
    copyFirst(to, room, columns);
    v += load(room);
  }
  store(room, v);
  copyFirst(room, to, columns);
}

/// Returns sum + left * right or, of pairs, their two products.
inline Vector addProduct(Vector sum, float left, Vector right) {
#ifdef INGOT_PAIRS
  auto pairs = _mm512_set1_ps(left);
  auto result = _mm512_dpbf16_ps(reinterpret_cast<__m512 &>(sum),
                                 reinterpret_cast<__m512bh &>(pairs),
                                 reinterpret_cast<__m512bh &>(right));
  return reinterpret_cast<Vector &>(result);
#else
  return sum + left * right;
#endif
}

/// Writes the columns of a tile that a part of its last vector is in, or adds
/// to them. It is called for tiles at the edges, and would be most of the code
/// of each if it were in them.
__attribute__((noinline)) void storePart(const Tile &t, const float *sums,
                                         int64_t rows, int64_t vectors) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v, sums += kLanes)
      storeColumns(t.c + r * t.cStep + v * kLanes, load(sums),
                   t.columns - v * kLanes, t.adds);
}

/// How the sums of a tile with whole vectors are stored.
enum class Put { Store, Add, Stream };

template <Put How, int Rows, int Vectors>
__attribute__((always_inline)) inline void
storeTile(const Tile &t, const Vector (&sum)[Rows][Vectors]) {
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    float *to = t.c + r * t.cStep;
#pragma unroll
    for (int v = 0; v < Vectors; ++v, to += kLanes)
      if constexpr (How == Put::Stream)
        stream(to, sum[r][v]);
      else
        store(to, How == Put::Add ? load(to) + sum[r][v] : sum[r][v]);
  }
}

#ifdef INGOT_PAIRS
template <int Rows, int Vectors>
__attribute__((always_inline)) inline void
roundTile(const Tile &t, Vector (&sum)[Rows][Vectors]) {
  bool isWhole = t.columns == Vectors * kLanes;
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      auto pairs = _mm512_cvtneps_pbh(reinterpret_cast<__m512 &>(sum[r][v]));
      auto &rounded = reinterpret_cast<__m256i &>(pairs);
      uint16_t *to = t.rounded + r * t.cStep + v * kLanes;
      int64_t columns = t.columns - v * kLanes;
      if (isWhole || columns >= kLanes)
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), rounded);
      else if (columns > 0)
        _mm256_mask_storeu_epi16(to, (__mmask16(1) << columns) - 1, rounded);
    }
}
#endif

/// Fetches the lines of results.
template <int Rows, int Vectors, typename Result>
__attribute__((always_inline)) inline void prefetchResults(Result *to,
                                                           int64_t step) {
  constexpr int lineElements = 64 / sizeof(Result);
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      if (v * kLanes % lineElements == 0)
        __builtin_prefetch(to + r * step + v * kLanes, 1);
}

template <int Rows, int Vectors, bool ByColumns>
void multiplyTile(const Tile &t) {
  Vector sum[Rows][Vectors];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = Vector{};
  // The processor fetches lines that are written one after the other otherwise.
  if (!ByColumns && t.rounded)
    prefetchResults<Rows, Vectors>(t.rounded, t.cStep);
  else if (!ByColumns && !t.streams)
    prefetchResults<Rows, Vectors>(t.c, t.cStep);
  const int64_t aStep = t.aStep;
  // Sums of complete parts are in memory.
  Vector earlier[Rows][Vectors];
  bool hasEarlier = false;
  int64_t room = kPart;
  auto endPart = [&]() __attribute__((always_inline)) {
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
      for (int v = 0; v < Vectors; ++v) {
        earlier[r][v] = hasEarlier ? earlier[r][v] + sum[r][v] : sum[r][v];
        sum[r][v] = Vector{};
      }
    hasEarlier = true;
    room = kPart;
  };
  for (int64_t s = 0; s < t.segments; ++s) {
    const float *a = t.a[s] + t.aOffset, *b = t.b[s] + t.bOffset;
    auto multiplyStep = [&]() __attribute__((always_inline)) {
      Vector right[Vectors];
#pragma unroll
      for (int v = 0; v < Vectors; ++v) {
        right[v] = load(b + v * kLanes);
        // Packed filters come from the L2 cache.
        if constexpr (!ByColumns)
          if (v * kLanes % 16 == 0)
            __builtin_prefetch(b + (8 * Vectors + v) * kLanes);
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        float left = ByColumns ? a[r] : a[r * aStep];
#pragma unroll
        for (int v = 0; v < Vectors; ++v)
          sum[r][v] = addProduct(sum[r][v], left, right[v]);
      }
      a += ByColumns ? aStep : 1;
      b += ByColumns ? t.bStep : Vectors * kLanes;
    };
    int64_t i = 0;
    if constexpr (!ByColumns)
      // Prefetch the pixels of the next tile a line at a time.
      for (; i + 16 <= t.length; i += 16) {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
          __builtin_prefetch(a + (Rows + r) * aStep);
        for (int64_t k = 0; k < 16; ++k)
          multiplyStep();
        if ((room -= 16) <= 0)
          endPart();
      }
    room -= t.length - i;
    for (; i < t.length; ++i)
      multiplyStep();
    if (room <= 0)
      endPart();
  }
  if (hasEarlier)
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
        sum[r][v] += earlier[r][v];
#ifdef INGOT_PAIRS
  if constexpr (!ByColumns)
    if (t.rounded)
      return roundTile(t, sum);
#endif
  bool isWhole = t.columns == Vectors * kLanes;
  if constexpr (!ByColumns)
    if (isWhole && t.streams)
      return storeTile<Put::Stream>(t, sum);
  if (isWhole && !t.adds)
    return storeTile<Put::Store>(t, sum);
  if (isWhole)
    return storeTile<Put::Add>(t, sum);
  alignas(64) float sums[Rows * Vectors * kLanes];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      store(sums + (r * Vectors + v) * kLanes, sum[r][v]);
  storePart(t, sums, Rows, Vectors);
}

/// Calls multiplyTile for the rows of a tile, a number that is known only when
/// the program runs.
template <int Rows, int Vectors, bool ByColumns>
inline void multiplyRowsUpTo(const Tile &tile) {
  if (tile.rows == Rows)
    return multiplyTile<Rows, Vectors, ByColumns>(tile);
  if constexpr (Rows > 1)
    multiplyRowsUpTo<Rows - 1, Vectors, ByColumns>(tile);
}

template <bool ByColumns> void multiplyAny(const Tile &tile) {
  if (tile.vectors == 1)
    return multiplyRowsUpTo<mostRowsOf(1), 1, ByColumns>(tile);
  if (tile.vectors == 2)
    return multiplyRowsUpTo<mostRowsOf(2), 2, ByColumns>(tile);
  multiplyRowsUpTo<mostRowsOf(4), 4, ByColumns>(tile);
}

constexpr Kernels kKernels = {
    kLanes,
    {0, mostRowsOf(1), mostRowsOf(2), 0, mostRowsOf(4)},
    multiplyAny<false>,
    multiplyAny<true>};

} // namespace
} // namespace ingot::runtime::direct

#endif // INGOT_RUNTIME_CPU_DIRECT_KERNELS_DIRECTVECTORS_H
