// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/Resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace ingot::runtime;

/// Weights are integers, so that results are the same on every processor.
static constexpr int kBits = 14;

// Loops over pixels, compiled for processors with AVX2 and for the others.
#define INGOT_INLINE __attribute__((always_inline)) static inline
#define INGOT_AVX2 __attribute__((target("avx2"))) static

bool AxisMap::isCopy() const { return step == 1 && start == std::floor(start); }

/// Computes the pixels and weights of each element.
static void planTaps(const AxisMap &map, int64_t pixels,
                     ResampleScratch &scratch) {
  scratch.taps.clear();
  scratch.weights.clear();
  double support = map.getSupport();
  for (int64_t i = 0; i < map.count; ++i) {
    double center = map.start + (static_cast<double>(i) + 0.5) * map.step;
    ResampleScratch::Tap tap;
    tap.weights = static_cast<int64_t>(scratch.weights.size());
    if (center >= 0 && center < static_cast<double>(pixels)) {
      auto first = std::max<int64_t>(
          static_cast<int64_t>(std::floor(center - support + 0.5)), 0);
      auto end = std::min<int64_t>(
          static_cast<int64_t>(std::floor(center + support + 0.5)), pixels);
      double sum = 0;
      auto getWeight = [&](int64_t pixel) {
        double away =
            std::abs(static_cast<double>(pixel) + 0.5 - center) / support;
        return std::max(0.0, 1 - away);
      };
      for (int64_t p = first; p < end; ++p)
        sum += getWeight(p);
      tap.first = first;
      tap.count = sum > 0 ? end - first : 0;
      // The rounded weights sum to one exactly.
      int32_t left = 1 << kBits;
      double rest = sum;
      for (int64_t p = first; p < first + tap.count; ++p) {
        double weight = getWeight(p);
        auto rounded = static_cast<int32_t>(
            rest > 0 ? std::lround(left * (weight / rest)) : 0);
        rounded = std::clamp(rounded, 0, left);
        scratch.weights.push_back(rounded);
        left -= rounded;
        rest -= weight;
      }
      if (tap.count != 0)
        scratch.weights.back() += left;
    }
    scratch.taps.push_back(tap);
  }
}

INGOT_INLINE void addRowInline(const uint8_t *row, int32_t weight,
                               int32_t *sums, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sums[i] += row[i] * weight;
}

INGOT_INLINE void roundRowInline(const int32_t *sums, uint8_t *row,
                                 int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    row[i] = static_cast<uint8_t>((sums[i] + (1 << (kBits - 1))) >> kBits);
}

/// Adds the pixels of color of one row to each element of it.
INGOT_INLINE void reduceColorsInline(const uint8_t *row,
                                     const ResampleScratch::Tap *taps,
                                     const int32_t *weights, uint8_t *to,
                                     int64_t count) {
  using Bytes = uint8_t __attribute__((vector_size(4)));
  using Numbers = int32_t __attribute__((vector_size(16)));
  constexpr int32_t half = 1 << (kBits - 1);
  for (int64_t i = 0; i < count; ++i) {
    Numbers sum = {half, half, half, half};
    const uint8_t *pixel = row + taps[i].first * 4;
    const int32_t *weight = weights + taps[i].weights;
    for (int64_t t = 0; t < taps[i].count; ++t, pixel += 4) {
      Bytes bytes;
      std::memcpy(&bytes, pixel, sizeof(bytes));
      sum += __builtin_convertvector(bytes, Numbers) * weight[t];
    }
    Bytes rounded = __builtin_convertvector(sum >> kBits, Bytes);
    std::memcpy(to + i * 4, &rounded, sizeof(rounded));
  }
}

namespace {

/// The loops for a processor.
struct Loops {
  void (*addRow)(const uint8_t *row, int32_t weight, int32_t *sums,
                 int64_t count);
  void (*roundRow)(const int32_t *sums, uint8_t *row, int64_t count);
  void (*reduceColors)(const uint8_t *row, const ResampleScratch::Tap *taps,
                       const int32_t *weights, uint8_t *to, int64_t count);
};

} // namespace

#define INGOT_LOOPS(name, target)                                              \
  target void addRow##name(const uint8_t *row, int32_t weight, int32_t *sums,  \
                           int64_t count) {                                    \
    addRowInline(row, weight, sums, count);                                    \
  }                                                                            \
  target void roundRow##name(const int32_t *sums, uint8_t *row,                \
                             int64_t count) {                                  \
    roundRowInline(sums, row, count);                                          \
  }                                                                            \
  target void reduceColors##name(                                              \
      const uint8_t *row, const ResampleScratch::Tap *taps,                    \
      const int32_t *weights, uint8_t *to, int64_t count) {                    \
    reduceColorsInline(row, taps, weights, to, count);                         \
  }                                                                            \
  static const Loops k##name = {addRow##name, roundRow##name,                  \
                                reduceColors##name};
INGOT_LOOPS(Plain, static)

#if defined(__x86_64__)
INGOT_LOOPS(Avx2, INGOT_AVX2)

/// Whether processor and system have AVX2.
static bool hasAvx2() {
  constexpr uint32_t saved = 6;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
    return false;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & saved) == saved && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
         (b & bit_AVX2);
}

static const Loops &chooseLoops() { return hasAvx2() ? kAvx2 : kPlain; }
#else
static const Loops &chooseLoops() { return kPlain; }
#endif

static void reduceGrays(const uint8_t *row, const ResampleScratch::Tap *taps,
                        const int32_t *weights, uint8_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    int32_t sum = 1 << (kBits - 1);
    for (int64_t t = 0; t < taps[i].count; ++t)
      sum += row[taps[i].first + t] * weights[taps[i].weights + t];
    to[i] = static_cast<uint8_t>(sum >> kBits);
  }
}

/// Copies pixels; those outside are black.
static void copy(const Picture &from, const AxisMap &x, const AxisMap &y,
                 Picture &to) {
  std::fill(to.pixels.begin(), to.pixels.end(), 0);
  auto left = static_cast<int64_t>(x.start),
       top = static_cast<int64_t>(y.start);
  int64_t first = std::max<int64_t>(-left, 0);
  int64_t end = std::min(x.count, from.width - left);
  if (first >= end)
    return;
  for (int64_t row = 0; row < y.count; ++row)
    if (top + row >= 0 && top + row < from.height)
      std::memcpy(to.pixels.data() + (row * x.count + first) * from.step,
                  from.getRow(top + row) + (left + first) * from.step,
                  static_cast<size_t>((end - first) * from.step));
}

void ingot::runtime::resample(const Picture &from, const AxisMap &x,
                              const AxisMap &y, Picture &to,
                              ResampleScratch &scratch) {
  to.width = x.count;
  to.height = y.count;
  to.step = from.step;
  to.pixels.resize(static_cast<size_t>(x.count * y.count * from.step));
  if (x.isCopy() && y.isCopy()) {
    copy(from, x, y, to);
    return;
  }
  static const Loops &loops = chooseLoops();
  // Rows first: that is work on long vectors, and leaves fewer rows.
  planTaps(y, from.height, scratch);
  Picture &rows = scratch.rows;
  rows.width = from.width;
  rows.height = y.count;
  rows.step = from.step;
  int64_t rowBytes = from.width * from.step;
  rows.pixels.resize(static_cast<size_t>(rowBytes * y.count));
  scratch.sums.resize(static_cast<size_t>(rowBytes));
  for (int64_t i = 0; i < y.count; ++i) {
    const ResampleScratch::Tap &tap = scratch.taps[static_cast<size_t>(i)];
    std::fill(scratch.sums.begin(), scratch.sums.end(), 0);
    for (int64_t t = 0; t < tap.count; ++t)
      loops.addRow(from.getRow(tap.first + t),
                   scratch.weights[static_cast<size_t>(tap.weights + t)],
                   scratch.sums.data(), rowBytes);
    loops.roundRow(scratch.sums.data(), rows.pixels.data() + i * rowBytes,
                   rowBytes);
  }
  planTaps(x, from.width, scratch);
  for (int64_t i = 0; i < y.count; ++i) {
    uint8_t *row = to.pixels.data() + i * x.count * to.step;
    if (from.step == 4)
      loops.reduceColors(rows.getRow(i), scratch.taps.data(),
                         scratch.weights.data(), row, x.count);
    else
      reduceGrays(rows.getRow(i), scratch.taps.data(), scratch.weights.data(),
                  row, x.count);
  }
}
