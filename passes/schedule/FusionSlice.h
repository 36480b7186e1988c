//===----------------------------------------------------------------------===//
//
// Parts of operations: what some of the results need.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_FUSIONSLICE_H
#define INGOT_PASSES_SCHEDULE_FUSIONSLICE_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ingot {

/// The operands that the results need: of a loop fusion those that their
/// elements are computed from, otherwise all.
llvm::SmallBitVector neededOperands(mlir::Operation *op,
                                    const llvm::SmallBitVector &results);

/// Builds the operation again at the builder's position, with `operands` in the
/// place of its own; of a loop fusion only what the results need. Returns a
/// value for each result, null for those left out.
llvm::SmallVector<mlir::Value> cloneResults(mlir::OpBuilder &builder,
                                            mlir::Operation *op,
                                            const llvm::SmallBitVector &results,
                                            mlir::ValueRange operands);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_FUSIONSLICE_H
