// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The cost of executing an operation: the one model on which all decisions are
// based.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_COST_H
#define INGOT_PASSES_COST_COST_H

#include "dialects/ingot/target/Machine.h"

namespace ingot {

struct Cost {
  /// The number of operations.
  int64_t flops = 0;
  /// The number of bytes read from and written to memory: results, and at most
  /// as many elements of an operand as are looked up. Values that stay within a
  /// fusion are free.
  int64_t bytes = 0;
  /// The time of the operations, the time of the bytes, and the total: the
  /// larger of the two plus the launch (the roofline model of Williams,
  /// Waterman and Patterson, 2009).
  double computeSeconds = 0, memorySeconds = 0, seconds = 0;
};

/// Returns the cost of a fusion, a library call, or a single op. Views are
/// free.
Cost estimateCost(mlir::Operation *op, const Machine &machine);

/// Returns the cost of a kernel that executes the operations and moves `bytes`.
Cost estimateCost(llvm::ArrayRef<mlir::Operation *> body, int64_t bytes,
                  const Machine &machine);

} // namespace ingot

#endif // INGOT_PASSES_COST_COST_H
