//===----------------------------------------------------------------------===//
//
// Parts of operations: what some of the results need.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_RECOMPUTE_FUSIONSLICE_H
#define INGOT_PASSES_SCHEDULE_RECOMPUTE_FUSIONSLICE_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ingot {

/// How some results of an operation are computed again, given others.
struct FusionSlice {
  /// Operands, and results of the original, that are read.
  llvm::SmallBitVector operands, others;
  /// The operations of a fusion's body that run.
  llvm::SmallVector<mlir::Operation *> body;
  /// The whole operation runs.
  bool isWhole = true;

  /// Returns what `results` need where the results `available` may be read.
  /// Elements of a fusion's results that need no reduction (of which others may
  /// hold the values) are computed alone, one by one; how a reduction goes over
  /// its space may depend on all results, so otherwise all of it runs.
  static FusionSlice of(mlir::Operation *op,
                        const llvm::SmallBitVector &results,
                        const llvm::SmallBitVector &available);

  /// Builds the slice at the builder's position, with `operands` in the place
  /// of the operation's own and `others` in that of its results. Returns a
  /// value for each result, null for those left out.
  llvm::SmallVector<mlir::Value> clone(mlir::OpBuilder &builder,
                                       mlir::Operation *op,
                                       const llvm::SmallBitVector &results,
                                       mlir::ValueRange operands,
                                       mlir::ValueRange others) const;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_RECOMPUTE_FUSIONSLICE_H
