#include "passes/schedule/Arena.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

using namespace ingot;

int64_t ingot::packIntervals(llvm::MutableArrayRef<Interval> intervals,
                             int64_t alignment) {
  llvm::SmallVector<Interval *> order;
  for (Interval &interval : intervals)
    order.push_back(&interval);
  llvm::stable_sort(order, [](const Interval *a, const Interval *b) {
    return a->bytes > b->bytes;
  });

  int64_t total = 0;
  // Placed intervals by offset.
  llvm::SmallVector<Interval *> placed;
  for (Interval *current : order) {
    int64_t size = llvm::alignTo(current->bytes, alignment);
    int64_t best = -1, bestGap = 0, end = 0;
    for (Interval *other : placed) {
      if (other->last < current->first || current->last < other->first)
        continue;
      int64_t gap = other->offset - end;
      if (gap >= size && (best < 0 || gap < bestGap)) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, other->offset + static_cast<int64_t>(llvm::alignTo(
                                              other->bytes, alignment)));
    }
    current->offset = best >= 0 ? best : end;
    total = std::max(total, current->offset + size);
    auto place =
        llvm::upper_bound(placed, current, [](Interval *a, Interval *b) {
          return a->offset < b->offset;
        });
    placed.insert(place, current);
  }
  return total;
}

int64_t ingot::peakLiveBytes(llvm::ArrayRef<Interval> intervals,
                             int64_t alignment, int64_t *instant) {
  int64_t instants = 0;
  for (const Interval &interval : intervals)
    instants = std::max(instants, interval.last + 1);
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
