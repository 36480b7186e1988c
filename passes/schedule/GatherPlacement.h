// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// When buckets of parameters that ranks have shards of are gathered.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_GATHERPLACEMENT_H
#define INGOT_PASSES_SCHEDULE_GATHERPLACEMENT_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace ingot {

/// The largest buckets that there is room for, if nothing else is said: one
/// whose readers run, and one that is in flight meanwhile.
inline constexpr size_t kGatherRoom = 2;

/// A bucket of parameters in shards.
struct GatheredBucket {
  AllGatherStartOp start;
  AllGatherWaitOp wait;
  mlir::Location loc;
  int64_t bytes = 0;
  /// Whether it stays from its first reader to its last, and takes no room.
  bool isSmall = false;
  /// The positions of its readers, in order.
  std::vector<int64_t> readers;
};

/// The readers of a bucket that is in memory from `start` to `last`; they begin
/// at `first`.
struct GatherStay {
  size_t bucket;
  int64_t start, first, last;
};

/// Gathers the buckets of a function of kernels in their final order, anew each
/// time.
class GatherPlacement {
public:
  /// Returns the number of different buckets.
  static size_t countBuckets(mlir::func::FuncOp function);

  /// Gathers with room for `count` of the largest buckets.
  void place(mlir::func::FuncOp function, size_t count);

  /// The buckets and stays of the last placement, and its room.
  llvm::ArrayRef<GatheredBucket> getBuckets() const { return found; }
  llvm::ArrayRef<GatherStay> getStays() const { return stays; }
  size_t getRoom() const { return room; }

private:
  void write(llvm::ArrayRef<mlir::Operation *> ops);

  std::vector<GatheredBucket> found;
  std::vector<GatherStay> stays;
  size_t room = 0;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_GATHERPLACEMENT_H
