// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which bytes of memory are in a cache: those that were used last.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_GPU_CACHEMODEL_H
#define INGOT_PASSES_COST_GPU_CACHEMODEL_H

#include <cstdint>
#include <deque>

namespace ingot::gpu_model {

/// A cache of whole intervals, of which those that were used longest ago leave
/// first.
class CacheModel {
public:
  explicit CacheModel(double bytes) : capacity(bytes) {}

  /// Returns how many bytes of the interval are in the cache.
  double countHits(int64_t begin, int64_t end) const;
  /// Makes the interval the last one that was used. One that is larger than the
  /// cache leaves nothing in it that is read before it is gone.
  void use(int64_t begin, int64_t end);

private:
  struct Interval {
    int64_t begin, end;
  };
  void remove(int64_t begin, int64_t end);

  double capacity;
  double held = 0;
  /// From the one that was used longest ago.
  std::deque<Interval> intervals;
};

} // namespace ingot::gpu_model

#endif // INGOT_PASSES_COST_GPU_CACHEMODEL_H
