// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Converts tensors of the file to types and attributes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_TENSORS_H
#define INGOT_FRONTENDS_ONNX_MODEL_TENSORS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "onnx/onnx_pb.h"
#include <string>

namespace ingot::onnx_import {

/// Returns the element type of an ONNX data type; null where there is none.
mlir::Type elementType(mlir::MLIRContext *context, int32_t dataType);

/// Returns the element type that holds elements of a data type, narrow ones
/// included; null where there is none.
mlir::Type storageType(mlir::MLIRContext *context, int32_t dataType);

/// Returns the ONNX data type of an element type.
int32_t dataTypeOf(mlir::Type element);

/// Returns ONNX's name of a data type, such as "FLOAT" or "INT64".
std::string dataTypeName(int32_t dataType);

/// Returns the type of a tensor whose data type and sizes have been checked by
/// `tensorBytes`.
mlir::RankedTensorType tensorType(mlir::MLIRContext *context,
                                  const onnx::TensorProto &tensor);

/// Returns the tensor's elements, row-major and little endian, whichever field
/// holds them; booleans take a byte. Fails, with an error at `where`, on
/// unsupported types and where the fields contradict the sizes.
llvm::FailureOr<std::string> tensorBytes(mlir::Location where,
                                         const onnx::TensorProto &tensor);
/// Returns the elements as above, without a copy: raw data is moved out of the
/// tensor.
llvm::FailureOr<std::string> takeBytes(mlir::Location where,
                                       onnx::TensorProto &tensor);

/// Returns the elements as an attribute: a splat if they are equal, `dense` if
/// there are few, otherwise a resource called `name`, which owns the bytes.
mlir::ElementsAttr elementsAttr(mlir::RankedTensorType type, std::string bytes,
                                llvm::StringRef name);

/// Returns the elements as a dense attribute, whatever their number.
mlir::DenseElementsAttr denseAttr(mlir::RankedTensorType type,
                                  llvm::StringRef bytes);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_TENSORS_H
