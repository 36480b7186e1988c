// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/graph/Arena.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <vector>

using namespace ingot;

static int64_t countInstants(llvm::ArrayRef<Interval> intervals) {
  int64_t instants = 0;
  for (const Interval &interval : intervals)
    instants = std::max(instants, interval.last + 1);
  return instants;
}

namespace {

class Packer {
public:
  Packer(llvm::ArrayRef<Interval> intervals, int64_t alignment)
      : intervals(intervals) {
    for (const Interval &interval : intervals)
      sizes.push_back(llvm::alignTo(interval.bytes, alignment));
    placed.reserve(intervals.size());
  }

  /// The rule that selects one of the gaps that fit an interval.
  enum class Fit { Smallest, Lowest };

  /// Assigns offsets to intervals one after the other.
  int64_t place(llvm::ArrayRef<unsigned> order, Fit fit) {
    offsets.assign(intervals.size(), 0);
    placed.clear();
    int64_t total = 0;
    for (unsigned current : order) {
      int64_t from = findOffset(current, fit), to = from + sizes[current];
      offsets[current] = from;
      total = std::max(total, to);
      if (from == to)
        continue;
      auto at =
          llvm::upper_bound(placed, from, [](int64_t offset, const Placed &p) {
            return offset < p.from;
          });
      placed.insert(
          at, {from, to, intervals[current].first, intervals[current].last});
    }
    return total;
  }

  llvm::ArrayRef<int64_t> getOffsets() const { return offsets; }
  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }

private:
  struct Placed {
    int64_t from, to, first, last;
  };

  /// Visits all placed intervals in the order of their offsets: one pass over
  /// an array is faster than collecting and sorting those that are live at the
  /// same time.
  int64_t findOffset(unsigned current, Fit fit) const {
    const Interval &interval = intervals[current];
    int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), end = 0;
    for (const Placed &other : placed) {
      if (other.last < interval.first || interval.last < other.first)
        continue;
      int64_t gap = other.from - end;
      if (gap >= sizes[current] && gap < bestGap) {
        best = end;
        bestGap = gap;
        // No gap further up is better than one that it fills.
        if (fit == Fit::Lowest || gap == sizes[current])
          break;
      }
      end = std::max(end, other.to);
    }
    return best >= 0 ? best : end;
  }

  llvm::ArrayRef<Interval> intervals;
  llvm::SmallVector<int64_t> sizes, offsets;
  /// Sorted by offset.
  std::vector<Placed> placed;
};

} // namespace

/// Returns the number of attempts per rule: fewer with many intervals, so that
/// the time does not grow with their square.
static int64_t countRounds(size_t intervals) {
  constexpr int64_t most = 24, effort = 50'000'000;
  auto count = static_cast<int64_t>(intervals);
  return std::clamp<int64_t>(effort / (count * count + 1), 1, most);
}

int64_t ingot::packIntervals(llvm::MutableArrayRef<Interval> intervals,
                             int64_t alignment, int64_t enough) {
  int64_t bound = peakLiveBytes(intervals, alignment);
  int64_t most = std::max(bound, enough);
  int64_t rounds = countRounds(intervals.size());
  Packer packer(intervals, alignment);
  llvm::ArrayRef<int64_t> sizes = packer.getSizes();
  auto duration = [&](unsigned i) {
    return intervals[i].last - intervals[i].first + 1;
  };

  int64_t best = std::numeric_limits<int64_t>::max();
  llvm::SmallVector<int64_t> offsets;
  auto attempt = [&](llvm::ArrayRef<unsigned> order, Packer::Fit fit) {
    int64_t total = packer.place(order, fit);
    if (total >= best)
      return;
    best = total;
    offsets.assign(packer.getOffsets().begin(), packer.getOffsets().end());
  };
  auto improve = [&](auto key, Packer::Fit fit) {
    llvm::SmallVector<unsigned> order =
        llvm::to_vector(llvm::seq<unsigned>(0, intervals.size()));
    llvm::stable_sort(order,
                      [&](unsigned a, unsigned b) { return key(a) > key(b); });
    // The interval that ended up highest found no good gap: it is placed first
    // next time.
    for (int64_t round = 0; round < rounds && best > most; ++round) {
      attempt(order, fit);
      llvm::ArrayRef<int64_t> placed = packer.getOffsets();
      std::stable_partition(order.begin(), order.end(), [&](unsigned i) {
        return placed[i] + sizes[i] > bound;
      });
    }
  };
  for (Packer::Fit fit : {Packer::Fit::Smallest, Packer::Fit::Lowest}) {
    improve([&](unsigned i) { return sizes[i]; }, fit);
    improve([&](unsigned i) { return sizes[i] * duration(i); }, fit);
    improve([&](unsigned i) { return duration(i); }, fit);
  }
  for (auto [interval, offset] : llvm::zip_equal(intervals, offsets))
    interval.offset = offset;
  return best;
}

int64_t ingot::peakLiveBytes(llvm::ArrayRef<Interval> intervals,
                             int64_t alignment, int64_t *instant) {
  int64_t instants = countInstants(intervals);
  llvm::SmallVector<int64_t> change(instants + 1, 0);
  for (const Interval &interval : intervals) {
    int64_t size = llvm::alignTo(interval.bytes, alignment);
    change[interval.first] += size;
    change[interval.last + 1] -= size;
  }
  int64_t live = 0, peak = 0;
  for (int64_t i = 0; i < instants; ++i) {
    live += change[i];
    if (live > peak) {
      peak = live;
      if (instant)
        *instant = i;
    }
  }
  return peak;
}
