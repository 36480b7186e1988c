// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Builders of scalar code inside loops, with which the bodies of ops (interface
// ScalarBody) are written.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_BUILDERS_SCALARS_H
#define INGOT_DIALECTS_INGOT_BUILDERS_SCALARS_H

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/TensorTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace ingot {

/// Emits index and scalar arithmetic at the insertion point of a builder.
struct ScalarEmitter {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value index(int64_t value) const;
  /// Returns a constant of a float or integer type.
  mlir::Value constant(mlir::Type type, double value) const;

  // Index arithmetic, which folds constants.
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value add(mlir::Value a, int64_t b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, int64_t b) const;
  mlir::Value div(mlir::Value a, int64_t b) const;
  mlir::Value rem(mlir::Value a, int64_t b) const;
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b) const;
  /// Returns the least and the greatest value of an index, as far as the code
  /// that computes it says: constants, sums, remainders, and loops of constant
  /// bounds.
  static std::optional<std::pair<int64_t, int64_t>> bounds(mlir::Value a);
  /// Emits 0 <= a < limit, for an index that may be negative.
  mlir::Value inRange(mlir::Value a, int64_t limit) const;
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b) const;

  /// Emits the row-major position of `indices` in `shape`.
  mlir::Value linearize(mlir::ValueRange indices,
                        llvm::ArrayRef<int64_t> shape) const;
  llvm::SmallVector<mlir::Value>
  delinearize(mlir::Value position, llvm::ArrayRef<int64_t> shape) const;

  /// Returns an integer element as an index that is clamped into [0, size).
  mlir::Value clampedIndex(mlir::Value element, int64_t size) const;

  /// Converts between float types; returns the value itself if the types are
  /// equal.
  mlir::Value convertFloat(mlir::Value value, mlir::Type type) const;

  /// Emits a branch, of which only the side that the condition selects is
  /// executed. Both callbacks emit at the insertion point of the builder.
  mlir::Value branch(mlir::Value condition, mlir::Type type,
                     llvm::function_ref<mlir::Value()> then,
                     llvm::function_ref<mlir::Value()> otherwise) const;

  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      const ScalarEmitter &, mlir::ValueRange indices,
      mlir::ValueRange carried)>;
  /// Emits a nest of sequential loops from 0 to `sizes` with loop-carried
  /// values.
  llvm::SmallVector<mlir::Value> loops(llvm::ArrayRef<int64_t> sizes,
                                       mlir::ValueRange initial,
                                       LoopBody body) const;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_BUILDERS_SCALARS_H
