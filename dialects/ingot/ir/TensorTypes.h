// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Types of tensors and of their elements, for ops and for all that builds them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_TENSORTYPES_H
#define INGOT_DIALECTS_INGOT_IR_TENSORTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

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

/// Returns the type of an element in generated code: `ui8` becomes `i8`, others
/// are unchanged.
mlir::Type codeType(mlir::Type element);

/// Returns the type in which elements are accumulated: f32 for 16-bit types.
mlir::Type accumulatorType(mlir::Type element);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_TENSORTYPES_H
