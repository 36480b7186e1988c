// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Repeated blocks of a model, such as the layers of a transformer: what a step
// takes grows with each of them alike.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_BLOCKRUNS_H
#define INGOT_PASSES_PLAN_BLOCKRUNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ingot {

/// Ops of a function in blocks of equal length, which differ in their states
/// only: each reads what the one before it computes.
struct BlockRun {
  int64_t first = 0, length = 0, count = 0;
};

/// Returns the runs of at least three blocks with states of their own, in their
/// order. Of overlapping ones the longest are taken.
llvm::SmallVector<BlockRun> findBlockRuns(mlir::func::FuncOp function);

/// Leaves the first blocks of each run, `kept` of them, at least two: what read
/// the last ones reads those that are left, and states that nothing reads any
/// more are erased. Runs that are as short stay as they are.
void keepBlocks(mlir::func::FuncOp function, llvm::ArrayRef<BlockRun> runs,
                llvm::ArrayRef<int64_t> kept);

} // namespace ingot

#endif // INGOT_PASSES_PLAN_BLOCKRUNS_H
