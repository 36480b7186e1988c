#include "passes/schedule/Arena.h"

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

/// Finds what lives together without looking at every pair: time is cut into
/// spans, and each knows who lives at its start.
class Neighbours {
public:
  explicit Neighbours(llvm::ArrayRef<Interval> intervals)
      : intervals(intervals) {
    int64_t instants = countInstants(intervals);
    starting.resize(instants);
    atStart.resize(instants / kSpan + 1);
    for (auto [i, interval] : llvm::enumerate(intervals)) {
      starting[interval.first].push_back(i);
      // Spans that it is in at their start but does not begin in.
      for (int64_t span = interval.first / kSpan + 1;
           span * kSpan <= interval.last; ++span)
        atStart[span].push_back(i);
    }
  }

  /// Calls `visit` with every interval that lives at some time of `interval`.
  template <typename Visit>
  void forEach(const Interval &interval, Visit visit) const {
    int64_t span = interval.first / kSpan;
    auto visitIfLive = [&](unsigned other) {
      if (intervals[other].last >= interval.first)
        visit(other);
    };
    llvm::for_each(atStart[span], visitIfLive);
    for (int64_t t = span * kSpan; t <= interval.last; ++t)
      llvm::for_each(starting[t], visitIfLive);
  }

private:
  static constexpr int64_t kSpan = 32;

  llvm::ArrayRef<Interval> intervals;
  std::vector<llvm::SmallVector<unsigned, 2>> starting;
  std::vector<llvm::SmallVector<unsigned, 0>> atStart;
};

class Packer {
public:
  Packer(llvm::ArrayRef<Interval> intervals, int64_t alignment)
      : intervals(intervals), neighbours(intervals) {
    for (const Interval &interval : intervals)
      sizes.push_back(llvm::alignTo(interval.bytes, alignment));
  }

  /// Where an interval goes of the gaps that take it.
  enum class Fit { Smallest, Lowest };

  /// Offsets of one interval after the other; -1 marks the unplaced.
  int64_t place(llvm::ArrayRef<unsigned> order, Fit fit) {
    offsets.assign(intervals.size(), -1);
    int64_t total = 0;
    for (unsigned current : order) {
      offsets[current] = findOffset(current, fit);
      total = std::max(total, offsets[current] + sizes[current]);
    }
    return total;
  }

  llvm::ArrayRef<int64_t> getOffsets() const { return offsets; }
  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }

private:
  int64_t findOffset(unsigned current, Fit fit) {
    taken.clear();
    neighbours.forEach(intervals[current], [&](unsigned other) {
      if (offsets[other] >= 0 && sizes[other] > 0)
        taken.push_back({offsets[other], offsets[other] + sizes[other]});
    });
    llvm::sort(taken);
    int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max(), end = 0;
    for (auto [from, to] : taken) {
      int64_t gap = from - end;
      if (gap >= sizes[current] && gap < bestGap) {
        best = end;
        bestGap = gap;
        if (fit == Fit::Lowest)
          break;
      }
      end = std::max(end, to);
    }
    return best >= 0 ? best : end;
  }

  llvm::ArrayRef<Interval> intervals;
  Neighbours neighbours;
  llvm::SmallVector<int64_t> sizes, offsets;
  llvm::SmallVector<std::pair<int64_t, int64_t>> taken;
};

} // namespace

/// Attempts with one rule.
static constexpr int kRounds = 24;

int64_t ingot::packIntervals(llvm::MutableArrayRef<Interval> intervals,
                             int64_t alignment) {
  int64_t bound = peakLiveBytes(intervals, alignment);
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
    // What ends up highest had no good place left: it comes first next time.
    for (int round = 0; round < kRounds && best > bound; ++round) {
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
