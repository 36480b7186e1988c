//===----------------------------------------------------------------------===//
//
// Short forms for emitting scalar code inside loops: what the bodies of ops
// (interface ScalarBody) are written with.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_BUILDERS_SCALARS_H
#define INGOT_DIALECTS_INGOT_BUILDERS_SCALARS_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace ingot {

/// The type that holds an element in code: `ui8` is `i8`, others are
/// themselves.
mlir::Type codeType(mlir::Type element);

/// The type that accumulates elements: f32 for half precision.
mlir::Type accumulatorType(mlir::Type element);

/// Emits index and scalar arithmetic at a builder's position.
struct ScalarEmitter {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value index(int64_t value) const;
  /// A constant of a float or integer type.
  mlir::Value constant(mlir::Type type, double value) const;

  // Index arithmetic; constants fold where both sides are known.
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value add(mlir::Value a, int64_t b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, int64_t b) const;
  mlir::Value div(mlir::Value a, int64_t b) const;
  mlir::Value rem(mlir::Value a, int64_t b) const;
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b) const;
  /// 0 <= a < limit, for a index that may be negative.
  mlir::Value inRange(mlir::Value a, int64_t limit) const;
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b) const;

  /// Row-major position of `indices` in `shape`.
  mlir::Value linearize(mlir::ValueRange indices,
                        llvm::ArrayRef<int64_t> shape) const;
  llvm::SmallVector<mlir::Value>
  delinearize(mlir::Value position, llvm::ArrayRef<int64_t> shape) const;

  /// An integer element as an index clamped into [0, size).
  mlir::Value clampedIndex(mlir::Value element, int64_t size) const;

  /// Float to float conversion; the value itself where the types agree.
  mlir::Value convertFloat(mlir::Value value, mlir::Type type) const;

  /// Branches: only the side that the condition picks runs. Both callbacks emit
  /// at the builder's position.
  mlir::Value branch(mlir::Value condition, mlir::Type type,
                     llvm::function_ref<mlir::Value()> then,
                     llvm::function_ref<mlir::Value()> otherwise) const;

  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      const ScalarEmitter &, mlir::ValueRange indices,
      mlir::ValueRange carried)>;
  /// A nest of sequential loops from 0 to `sizes` that carries values through.
  llvm::SmallVector<mlir::Value> loops(llvm::ArrayRef<int64_t> sizes,
                                       mlir::ValueRange initial,
                                       LoopBody body) const;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_BUILDERS_SCALARS_H
