// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/quantize/Ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace ingot::runtime;

/// The parts of a range that a histogram tells apart.
static constexpr size_t kBins = 2048;
/// The ranges that are tried for the least error are shares of the whole one.
static constexpr int kTried = 80;
static constexpr double kLeastShare = 0.2;

/// Returns the share of the whole range that is tried.
static double getShare(int tried) {
  return 1 - (1 - kLeastShare) * tried / kTried;
}

void ValueRange::add(const float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    low = std::min<double>(low, values[i]);
    high = std::max<double>(high, values[i]);
  }
}

RangeHistogram::RangeHistogram(ValueRange range)
    : range(range), counts(kBins) {}

void RangeHistogram::add(const float *values, int64_t count) {
  double width = range.high - range.low;
  if (width <= 0)
    return;
  for (int64_t i = 0; i < count; ++i) {
    double at = (values[i] - range.low) / width * kBins;
    if (!std::isnan(at))
      ++counts[static_cast<size_t>(std::clamp(at, 0.0, kBins - 1.0))];
  }
}

double RangeHistogram::getCenter(size_t bin) const {
  return range.low +
         (static_cast<double>(bin) + 0.5) * (range.high - range.low) / kBins;
}

ValueRange RangeHistogram::cut(double share) const {
  double all = 0;
  for (int64_t count : counts)
    all += static_cast<double>(count);
  double most = all * share / 2, left = 0, right = 0;
  size_t first = 0, last = kBins;
  while (first < last && left + static_cast<double>(counts[first]) <= most)
    left += static_cast<double>(counts[first++]);
  while (last > first && right + static_cast<double>(counts[last - 1]) <= most)
    right += static_cast<double>(counts[--last]);
  double step = (range.high - range.low) / kBins;
  return {std::min(0.0, range.low + static_cast<double>(first) * step),
          std::max(0.0, range.low + static_cast<double>(last) * step)};
}

ValueRange RangeHistogram::findLeastError(double steps) const {
  ValueRange best = range;
  double least = std::numeric_limits<double>::infinity();
  for (int tried = 0; tried < kTried; ++tried) {
    double share = getShare(tried);
    ValueRange part = {range.low * share, range.high * share};
    double scale = (part.high - part.low) / steps, error = 0;
    if (scale <= 0)
      break;
    double zero = std::round(-part.low / scale);
    for (size_t bin = 0; bin < kBins; ++bin) {
      if (counts[bin] == 0)
        continue;
      double value = getCenter(bin);
      double code =
          std::clamp(std::nearbyint(value / scale) + zero, 0.0, steps);
      double difference = (code - zero) * scale - value;
      error += static_cast<double>(counts[bin]) * difference * difference;
    }
    if (error < least) {
      least = error;
      best = part;
    }
  }
  return best;
}

double ingot::runtime::findLeastErrorScale(const float *values, int64_t count,
                                           double greatest) {
  double most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max<double>(most, std::abs(values[i]));
  double best = most / greatest,
         least = std::numeric_limits<double>::infinity();
  for (int tried = 0; tried < kTried && most > 0; ++tried) {
    double scale = most * getShare(tried) / greatest, error = 0;
    for (int64_t i = 0; i < count; ++i) {
      double value = values[i];
      double code =
          std::clamp(std::nearbyint(value / scale), -greatest, greatest);
      error += (code * scale - value) * (code * scale - value);
    }
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}
