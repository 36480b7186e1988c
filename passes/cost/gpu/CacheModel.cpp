// SPDX-License-Identifier: Apache-2.0

#include "passes/cost/gpu/CacheModel.h"

#include <algorithm>

using namespace ingot::gpu_model;

double CacheModel::countHits(int64_t begin, int64_t end) const {
  double bytes = 0;
  for (const Interval &interval : intervals)
    bytes += static_cast<double>(std::max<int64_t>(
        0, std::min(end, interval.end) - std::max(begin, interval.begin)));
  return bytes;
}

void CacheModel::remove(int64_t begin, int64_t end) {
  std::deque<Interval> kept;
  held = 0;
  auto keep = [&](int64_t from, int64_t to) {
    if (from >= to)
      return;
    kept.push_back({from, to});
    held += static_cast<double>(to - from);
  };
  for (const Interval &interval : intervals) {
    keep(interval.begin, std::min(begin, interval.end));
    keep(std::max(end, interval.begin), interval.end);
  }
  intervals = std::move(kept);
}

void CacheModel::use(int64_t begin, int64_t end) {
  remove(begin, end);
  if (static_cast<double>(end - begin) > capacity) {
    intervals.clear();
    held = 0;
    return;
  }
  intervals.push_back({begin, end});
  held += static_cast<double>(end - begin);
  while (held > capacity) {
    held -=
        static_cast<double>(intervals.front().end - intervals.front().begin);
    intervals.pop_front();
  }
}
