//===----------------------------------------------------------------------===//
//
// What running an operation costs: the one model that decisions are weighed in.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_COST_H
#define INGOT_PASSES_COST_COST_H

#include "dialects/ingot/target/Machine.h"

namespace ingot {

struct Cost {
  /// Operations, by kind of work at the rate of its element type.
  int64_t flops = 0;
  /// Bytes read from and written to memory: results, and of operands at most
  /// as many elements as are looked up; what stays within a fusion costs none.
  int64_t bytes = 0;
  /// The time of the operations alone, of the bytes alone, and of the whole:
  /// the larger of the two and the launch (the roofline model of Williams,
  /// Waterman and Patterson, 2009).
  double computeSeconds = 0, memorySeconds = 0, seconds = 0;
};

/// Returns the cost of a fusion, a library anchor, or an op on its own. Views
/// cost nothing.
Cost estimateCost(mlir::Operation *op, const Machine &machine);

/// Returns the cost of a kernel that runs the operations and moves `bytes`.
Cost estimateCost(llvm::ArrayRef<mlir::Operation *> body, int64_t bytes,
                  const Machine &machine);

} // namespace ingot

#endif // INGOT_PASSES_COST_COST_H
