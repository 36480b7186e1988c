// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The weights of a row that dropout keeps.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHDROPOUT_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHDROPOUT_H

#include "runtime/cpu/attention/FlashTiles.h"

namespace ingot::runtime::flash {
namespace {

using DoubleWords __attribute__((vector_size(INGOT_LANES * 4), aligned(4))) =
    unsigned long long;

/// The upper and the lower words of the products of `x` and `by`.
inline void multiplyWords(Words x, unsigned by, Words &high, Words &low) {
  constexpr unsigned long long lower = 0xFFFFFFFF;
  auto pairs = reinterpret_cast<DoubleWords &>(x);
  DoubleWords even = (pairs & lower) * by, odd = (pairs >> 32) * by;
  DoubleWords upper = (even >> 32) | (odd & ~lower);
  DoubleWords rest = (even & lower) | (odd << 32);
  high = reinterpret_cast<Words &>(upper);
  low = reinterpret_cast<Words &>(rest);
}

/// Interleaves the lower halves of two vectors, or the upper ones: a0 b0 a1 b1.
template <bool Upper, int... L>
inline Words interleave(Words a, Words b, Sequence<L...>) {
  constexpr int first = Upper ? INGOT_LANES / 2 : 0;
  return __builtin_shufflevector(
      a, b, (first + L / 2 + (L % 2 ? INGOT_LANES : 0))...);
}
template <bool Upper> inline Words interleave(Words a, Words b) {
  return interleave<Upper>(a, b, Lanes<INGOT_LANES>());
}

template <int... L> inline Words countLanes(Sequence<L...>) {
  return Words{L...};
}

/// The words of Philox-4x32-10 for `lanes` blocks of four positions, from
/// block `first` on.
inline void drawWords(const Dropout &dropout, int64_t first, unsigned *to) {
  auto start = static_cast<unsigned>(first);
  using namespace abi::philox;
  Words c0 = countLanes(Lanes<INGOT_LANES>()) + start;
  // The upper words of the counters: one more where the lower ones overflow.
  Words c1 = __builtin_convertvector(c0 < start, Words) * -1U +
             static_cast<unsigned>(first >> 32);
  Words c2 = Words{} + dropout.step, c3 = Words{} + dropout.stream;
  unsigned key0 = dropout.key[0], key1 = dropout.key[1];
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    Words highA, lowA, highB, lowB;
    multiplyWords(c0, kMultipliers[0], highA, lowA);
    multiplyWords(c2, kMultipliers[1], highB, lowB);
    c0 = highB ^ c1 ^ key0;
    c1 = lowB;
    c2 = highA ^ c3 ^ key1;
    c3 = lowA;
    key0 += kKeySteps[0];
    key1 += kKeySteps[1];
  }
  Words evenLow = interleave<false>(c0, c2), oddLow = interleave<false>(c1, c3);
  Words evenHigh = interleave<true>(c0, c2), oddHigh = interleave<true>(c1, c3);
  auto *words = reinterpret_cast<Words *>(to);
  words[0] = interleave<false>(evenLow, oddLow);
  words[1] = interleave<true>(evenLow, oddLow);
  words[2] = interleave<false>(evenHigh, oddHigh);
  words[3] = interleave<true>(evenHigh, oddHigh);
}

/// Writes the factors of the weights in `columns`: 0 where a weight is dropped,
/// dropout.scale elsewhere. `position` is that of the weight in column 0.
void drawFactors(const Dropout &dropout, int64_t position, Range columns,
                 float *factors) {
  // A block may begin before the columns, and the last draw may end after them.
  unsigned words[kMostKeys + 8 * kLanes];
  int64_t begin = position + columns.begin, end = position + columns.end;
  int64_t firstBlock = begin / 4, drawn = firstBlock;
  for (; drawn * 4 < end; drawn += kLanes)
    drawWords(dropout, drawn, words + (drawn - firstBlock) * 4);
  const unsigned *from = words + begin % 4;
  for (int64_t j = columns.begin; j < columns.end; j += kLanes) {
    Words bits = *reinterpret_cast<const Words *>(from + j - columns.begin);
    Integers stays =
        __builtin_convertvector(bits >> 8, Integers) >= dropout.least;
    store(factors + j, stays ? Vector{} + dropout.scale : Vector{});
  }
}

} // namespace
} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHDROPOUT_H
