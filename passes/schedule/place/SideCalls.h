// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The calls between which a step's regions run concurrently with others.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_PLACE_SIDECALLS_H
#define INGOT_PASSES_SCHEDULE_PLACE_SIDECALLS_H

#include "passes/schedule/graph/SideRegions.h"

namespace ingot {

class SideCalls {
public:
  explicit SideCalls(llvm::SmallVector<SideRegion> regions)
      : regions(std::move(regions)) {}

  /// Checks that the operations of each region are next to each other, apart
  /// from views.
  static llvm::LogicalResult check(mlir::func::FuncOp func);

  /// Ends the region that ends at an instant, and waits for those that are
  /// waited for there; returns the number of calls.
  int64_t leave(int64_t instant, mlir::Location loc,
                mlir::OpBuilder &builder) const;
  /// Starts the region that starts at an instant; returns the number of calls.
  int64_t enter(int64_t instant, mlir::Location loc,
                mlir::OpBuilder &builder) const;

private:
  llvm::SmallVector<SideRegion> regions;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_PLACE_SIDECALLS_H
