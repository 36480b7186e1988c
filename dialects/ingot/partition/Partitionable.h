// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How ops are computed in parts.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_H
#define INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ingot {

/// Dimensions that are split together, see the interface Partitionable.
struct Factor {
  enum Kind {
    /// Each part of the operands gives a part of the results.
    Free,
    /// The result is the sum, product, maximum or minimum of those of the
    /// parts.
    Sum,
    Prod,
    Max,
    Min
  } kind = Free;
  /// Parts are equal: their number divides this.
  int64_t size = 1;
  /// The dimension of each operand and of each result; -1 for those that do not
  /// have the factor.
  llvm::SmallVector<int64_t> operandDims = {}, resultDims = {};
};

/// Returns the factors that follow from how an op reads elements.
llvm::SmallVector<Factor> getDefaultFactors(mlir::Operation *op);

/// Returns the factors of any op, see the interface Partitionable; none of an
/// op that is computed as a whole.
llvm::SmallVector<Factor> getFactors(mlir::Operation *op);

/// Returns whether the op contracts two operands with each other: it sums over
/// a factor that several operands have.
bool isContraction(mlir::Operation *op);

} // namespace ingot

#include "dialects/ingot/partition/Partitionable.h.inc"

#endif // INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_H
