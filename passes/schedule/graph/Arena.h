// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Packs memory intervals: computes offsets such that no two intervals that are
// live at the same time overlap.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_GRAPH_ARENA_H
#define INGOT_PASSES_SCHEDULE_GRAPH_ARENA_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace ingot {

/// A block of memory that is live from instant `first` to `last`, both
/// included.
struct Interval {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t offset = 0;
};

/// Sets the offsets, multiples of `alignment`; returns the bytes they span.
/// One by one, each goes to the smallest or lowest gap among its neighbours in
/// time: in order of size (Pisarchyk and Lee, "Efficient Memory Management for
/// Deep Neural Net Inference", 2020), of size times duration, or of duration,
/// and again with those first that ended up above the bound. The best attempt
/// counts; one at the bound, or of at most `enough` bytes, is the last.
int64_t packIntervals(llvm::MutableArrayRef<Interval> intervals,
                      int64_t alignment, int64_t enough = 0);

/// Returns the maximum number of bytes that are live at one instant, a lower
/// bound of any packing. `instant` receives the first such instant if it is not
/// null.
int64_t peakLiveBytes(llvm::ArrayRef<Interval> intervals, int64_t alignment,
                      int64_t *instant = nullptr);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_GRAPH_ARENA_H
