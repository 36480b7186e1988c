// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/Resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ingot::runtime;

bool AxisMap::isCopy() const { return step == 1 && start == std::floor(start); }

/// Computes the pixels and weights of each element.
static void planTaps(const AxisMap &map, int64_t pixels,
                     ResampleScratch &scratch) {
  scratch.taps.clear();
  scratch.weights.clear();
  double support = map.getSupport();
  for (int64_t i = 0; i < map.count; ++i) {
    double center = map.start + (static_cast<double>(i) + 0.5) * map.step;
    Tap tap;
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
      int32_t left = 1 << kWeightBits;
      double rest = sum;
      for (int64_t p = first; p < first + tap.count; ++p) {
        double weight = getWeight(p);
        auto rounded = static_cast<int32_t>(
            rest > 0 ? std::lround(left * (weight / rest)) : 0);
        rounded = std::clamp(rounded, 0, left);
        scratch.weights.push_back(static_cast<int16_t>(rounded));
        left -= rounded;
        rest -= weight;
      }
      if (tap.count != 0)
        scratch.weights.back() =
            static_cast<int16_t>(scratch.weights.back() + left);
      while (scratch.weights.size() % kTapGroup != 0)
        scratch.weights.push_back(0);
    }
    scratch.taps.push_back(tap);
  }
}

static void reduceGrays(const uint8_t *row, const Tap *taps,
                        const int16_t *weights, uint8_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    int32_t sum = 1 << (kWeightBits - 1);
    for (int64_t t = 0; t < taps[i].count; ++t)
      sum += row[taps[i].first + t] * weights[taps[i].weights + t];
    to[i] = static_cast<uint8_t>(sum >> kWeightBits);
  }
}

/// Makes `count` deep samples, each the weighted sum of samples that are
/// `stride` apart.
static void reduceDeep(const uint16_t *from, int64_t stride, int64_t taps,
                       const int16_t *weights, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    // Weights sum to one: the sum has 30 bits.
    int32_t sum = 1 << (kWeightBits - 1);
    for (int64_t t = 0; t < taps; ++t)
      sum += from[i + t * stride] * weights[t];
    to[i] = static_cast<uint16_t>(sum >> kWeightBits);
  }
}

/// Resamples a picture of deep samples.
static void resampleDeep(const Picture &from, const AxisMap &x,
                         const AxisMap &y, Picture &to,
                         ResampleScratch &scratch) {
  Picture &rows = scratch.rows;
  int64_t colors = from.step / 2, width = from.width * colors;
  auto get = [](const uint8_t *row) {
    return reinterpret_cast<const uint16_t *>(row);
  };
  auto getMade = [](Picture &picture, int64_t row) {
    return reinterpret_cast<uint16_t *>(picture.pixels.data()) +
           row * picture.width * picture.step / 2;
  };
  planTaps(y, from.height, scratch);
  for (int64_t i = 0; i < y.count; ++i) {
    const Tap &tap = scratch.taps[static_cast<size_t>(i)];
    reduceDeep(get(from.getRow(tap.first)), width, tap.count,
               scratch.weights.data() + tap.weights, getMade(rows, i), width);
  }
  planTaps(x, from.width, scratch);
  for (int64_t i = 0; i < y.count; ++i)
    for (int64_t j = 0; j < x.count; ++j) {
      const Tap &tap = scratch.taps[static_cast<size_t>(j)];
      reduceDeep(get(rows.getRow(i)) + tap.first * colors, colors, tap.count,
                 scratch.weights.data() + tap.weights,
                 getMade(to, i) + j * colors, colors);
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
  const PixelLoops &loops = getPixelLoops();
  // Rows first: that is work on long vectors, and leaves fewer rows.
  Picture &rows = scratch.rows;
  rows.width = from.width;
  rows.height = y.count;
  rows.step = from.step;
  int64_t rowBytes = from.width * from.step;
  rows.pixels.resize(static_cast<size_t>(rowBytes * y.count + kRowSlack));
  if (from.isDeep()) {
    resampleDeep(from, x, y, to, scratch);
    return;
  }
  planTaps(y, from.height, scratch);
  for (int64_t i = 0; i < y.count; ++i) {
    const Tap &tap = scratch.taps[static_cast<size_t>(i)];
    loops.reduceRows(from.getRow(tap.first), rowBytes,
                     scratch.weights.data() + tap.weights, tap.count,
                     rows.pixels.data() + i * rowBytes, rowBytes);
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

void ingot::runtime::resampleNearest(const Picture &from, const AxisMap &x,
                                     const AxisMap &y, Picture &to) {
  to.width = x.count;
  to.height = y.count;
  to.step = from.step;
  auto step = static_cast<size_t>(from.step);
  to.pixels.assign(static_cast<size_t>(x.count * y.count) * step, 0);
  auto find = [](const AxisMap &axis, int64_t element) {
    return static_cast<int64_t>(std::floor(
        axis.start + (static_cast<double>(element) + 0.5) * axis.step));
  };
  for (int64_t i = 0; i < y.count; ++i) {
    int64_t row = find(y, i);
    if (row < 0 || row >= from.height)
      continue;
    for (int64_t j = 0; j < x.count; ++j)
      if (int64_t column = find(x, j); column >= 0 && column < from.width)
        std::memcpy(
            to.pixels.data() + static_cast<size_t>(i * x.count + j) * step,
            from.getRow(row) + static_cast<size_t>(column) * step, step);
  }
}
