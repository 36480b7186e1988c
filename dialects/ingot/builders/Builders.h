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

namespace ingot {

/// Returns the tensor type of a value of this dialect.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// Returns the size of a tensor or buffer in bytes; elements of less than a
/// byte take one.
int64_t byteSize(mlir::ShapedType type);

/// Returns the type that a precision names (fp32, bf16, fp16); null for other
/// names.
mlir::FloatType typeOfPrecision(mlir::MLIRContext *context,
                                llvm::StringRef name);

/// Returns the element type in which a trainer of that precision computes: f32
/// becomes the 16-bit type, other types are unchanged.
mlir::Type elementInPrecision(mlir::Type element, llvm::StringRef precision);

/// Returns `type` with another element type.
mlir::RankedTensorType withElement(mlir::RankedTensorType type,
                                   mlir::Type element);

/// Returns `type` without the dimensions `dims`.
mlir::RankedTensorType dropDims(mlir::RankedTensorType type,
                                llvm::ArrayRef<int64_t> dims);

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
