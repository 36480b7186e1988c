// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/tensorboard/Histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace ingot::runtime;

void Histogram::add(const float *values, int64_t count) {
  elements += count;
  for (int64_t i = 0; i < count; ++i) {
    float value = values[i];
    if (!std::isfinite(value))
      continue;
    smallest = finite == 0 ? value : std::min<double>(smallest, value);
    largest = finite == 0 ? value : std::max<double>(largest, value);
    ++finite;
    zeros += value == 0;
    subnormal +=
        value != 0 && std::abs(value) < std::numeric_limits<float>::min();
    sum += value;
    squares += static_cast<double>(value) * value;
    auto bits = std::bit_cast<uint32_t>(std::abs(value)) >> kShift;
    auto bucket = static_cast<int64_t>(bits);
    ++counts[value < 0 ? kBuckets - 1 - bucket : kBuckets + bucket];
  }
}

double Histogram::getNorm() const { return std::sqrt(squares); }

Histogram::Buckets Histogram::getBuckets() const {
  auto getEdge = [](int64_t bucket) {
    // That of the last bucket is infinite.
    return std::min(static_cast<double>(std::bit_cast<float>(
                        static_cast<uint32_t>(bucket) << kShift)),
                    static_cast<double>(std::numeric_limits<float>::max()));
  };
  Buckets buckets;
  for (int64_t i = 0; i < 2 * kBuckets; ++i) {
    auto count = static_cast<double>(counts[i]);
    if (count == 0 && buckets.counts.empty())
      continue;
    double limit =
        i < kBuckets ? -getEdge(kBuckets - 1 - i) : getEdge(i - kBuckets + 1);
    if (count == 0 && buckets.counts.back() == 0) {
      buckets.limits.back() = limit;
    } else {
      buckets.limits.push_back(limit);
      buckets.counts.push_back(count);
    }
  }
  if (!buckets.counts.empty() && buckets.counts.back() == 0) {
    buckets.limits.pop_back();
    buckets.counts.pop_back();
  }
  return buckets;
}
