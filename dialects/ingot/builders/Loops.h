// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Builds loops whose bodies use values from outside.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_BUILDERS_LOOPS_H
#define INGOT_DIALECTS_INGOT_BUILDERS_LOOPS_H

#include "dialects/ingot/ir/Dialect.h"

namespace ingot {

/// A loop whose body is being built. The body may use values from outside,
/// which become captures when it is complete.
class LoopBuilder {
public:
  LoopBuilder(mlir::Location loc, int64_t count, bool reverse,
              mlir::ValueRange initial, mlir::ValueRange sequences);

  mlir::Block &getBlock() { return region.front(); }
  /// Returns the values that the iteration begins with.
  mlir::ValueRange getCarried();
  /// Returns the slices that the iteration reads.
  mlir::ValueRange getSlices();

  /// Creates the loop. The body yields the next carried values, then one slice
  /// of each output.
  LoopOp finish(mlir::OpBuilder &builder, mlir::ValueRange yielded);

private:
  mlir::Location loc;
  int64_t count;
  bool reverse;
  llvm::SmallVector<mlir::Value> initial, sequences;
  mlir::Region region;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_BUILDERS_LOOPS_H
