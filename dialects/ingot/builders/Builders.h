//===----------------------------------------------------------------------===//
//
// Short forms for building `ingot` ops, shared by gradients, decompositions,
// frontends and passes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_BUILDERS_BUILDERS_H
#define INGOT_DIALECTS_INGOT_BUILDERS_BUILDERS_H

#include "dialects/ingot/ir/Dialect.h"

namespace ingot {

/// The tensor type of a value of this dialect.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// Bytes of a tensor or buffer; elements of less than a byte take one.
int64_t byteSize(mlir::ShapedType type);

/// The type that a precision names (fp32, bf16, fp16); null for other names.
mlir::FloatType typeOfPrecision(mlir::MLIRContext *context,
                                llvm::StringRef name);

/// What a trainer of that precision computes elements in: f32 becomes its type,
/// others stay.
mlir::Type elementInPrecision(mlir::Type element, llvm::StringRef precision);

/// `type` with another element type.
mlir::RankedTensorType withElement(mlir::RankedTensorType type,
                                   mlir::Type element);

/// `type` without the dimensions `dims`.
mlir::RankedTensorType dropDims(mlir::RankedTensorType type,
                                llvm::ArrayRef<int64_t> dims);

/// A constant with every element `value` (rounded to the element type).
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::RankedTensorType type, double value);

/// A constant like `like` with every element `value`.
mlir::Value splatLike(mlir::OpBuilder &builder, mlir::Value like, double value);

/// The operand converted to the element type; itself where it has it.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Type element);

/// The operand under another shape; itself where it has it.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Broadcast with an explicit mapping of dimensions, see BroadcastOp.
mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);

/// NumPy's rule: aligns trailing dimensions, repeats those of size 1.
mlir::Value broadcastTrailing(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Sum over `dims` (increasing); the operand itself over no dimensions.
mlir::Value sumOver(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, llvm::ArrayRef<int64_t> dims);

/// Repeats `value`, whose shape is `shape` without `dims`, along `dims`: the
/// opposite of a reduction.
mlir::Value broadcastOver(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<int64_t> dims);

/// a + b where either may be null (zero); null if both are.
mlir::Value addOrNull(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value a, mlir::Value b);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_BUILDERS_BUILDERS_H
