// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Values that inputs are bound to at compile time.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPTIONS_VALUES_H
#define INGOT_FRONTENDS_ONNX_OPTIONS_VALUES_H

#include "frontends/onnx/options/Dims.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "onnx/onnx_pb.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace ingot::onnx_import {

/// The values of each bound input as text, by the input's name.
using InputValues = std::map<std::string, std::vector<std::string>>;

/// Reads NAME=V[,V...]. Fails with a UserError about the option `value`.
llvm::Expected<InputValues> parseValues(llvm::ArrayRef<std::string> texts);

/// Returns the constant that replaces an input: one value for all elements, or
/// all of them in row-major order. Symbolic dimensions have the first of their
/// sizes in `dims`; the one dimension of a vector may be open. Fails, with an
/// error about the option `value`, if they do not fit.
llvm::FailureOr<mlir::DenseElementsAttr>
bindInput(mlir::MLIRContext *context, const onnx::ValueInfoProto &input,
          llvm::ArrayRef<std::string> values, const DimSizes &dims);

/// Fails, with an error about the option `value`, unless each name is one of an
/// input.
llvm::LogicalResult checkValues(mlir::MLIRContext *context,
                                const onnx::GraphProto &graph,
                                const InputValues &values);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPTIONS_VALUES_H
