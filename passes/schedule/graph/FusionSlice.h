// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Slices of operations that compute only some of the results.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_GRAPH_FUSIONSLICE_H
#define INGOT_PASSES_SCHEDULE_GRAPH_FUSIONSLICE_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ingot {

/// The part of an operation that recomputes some results, given others.
struct FusionSlice {
  /// The operands, and the results of the original, that are read.
  llvm::SmallBitVector operands, others;
  /// The operations of a fusion's body that are executed.
  llvm::SmallVector<mlir::Operation *> body;
  /// Whether the whole operation is executed.
  bool isWhole = true;

  /// Returns the slice that computes `results` if the results `available` can
  /// be read. Elements of a fusion's results that do not depend on a reduction,
  /// except on reductions whose values are available, are computed
  /// independently; the order of a reduction may depend on all results, so that
  /// otherwise the whole operation is executed.
  static FusionSlice of(mlir::Operation *op,
                        const llvm::SmallBitVector &results,
                        const llvm::SmallBitVector &available);

  /// Builds the slice at the insertion point of the builder, with `operands`
  /// instead of the operation's own and `others` instead of its results.
  /// Returns a value for each result, and null for those left out.
  llvm::SmallVector<mlir::Value> clone(mlir::OpBuilder &builder,
                                       mlir::Operation *op,
                                       const llvm::SmallBitVector &results,
                                       mlir::ValueRange operands,
                                       mlir::ValueRange others) const;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_GRAPH_FUSIONSLICE_H
