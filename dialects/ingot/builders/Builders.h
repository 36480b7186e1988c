// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Builders of `ingot` ops, shared by gradients, decompositions, frontends and
// passes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_BUILDERS_BUILDERS_H
#define INGOT_DIALECTS_INGOT_BUILDERS_BUILDERS_H

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/TensorTypes.h"

namespace ingot {

/// Returns a constant with every element `value` (rounded to the element type).
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::RankedTensorType type, double value);

/// Returns a constant like `like` with every element `value`.
mlir::Value splatLike(mlir::OpBuilder &builder, mlir::Value like, double value);

/// Returns the operand converted to the element type; the operand itself if it
/// has that type.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Type element);

/// Returns the operand with another shape; the operand itself if it has that
/// shape.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Broadcasts with an explicit mapping of dimensions, see BroadcastOp.
mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);

/// Broadcasts by NumPy's rule: trailing dimensions are aligned, and dimensions
/// of size 1 repeated.
mlir::Value broadcastTrailing(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Returns the sum over `dims` (increasing); the operand itself if there are
/// none.
mlir::Value sumOver(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, llvm::ArrayRef<int64_t> dims);

/// Broadcasts `value`, whose shape is `shape` without `dims`, along `dims`: the
/// inverse of a reduction.
mlir::Value broadcastOver(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<int64_t> dims);

/// Returns a + b where either may be null (zero); null if both are.
mlir::Value addOrNull(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, mlir::Value b);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_BUILDERS_BUILDERS_H
