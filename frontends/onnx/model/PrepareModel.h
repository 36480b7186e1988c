// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checks a model that was read, which is untrusted, and inlines its functions.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_PREPAREMODEL_H
#define INGOT_FRONTENDS_ONNX_MODEL_PREPAREMODEL_H

#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"

namespace ingot::onnx_import {

/// Returns true for operators whose graphs (branches, bodies of loops) are
/// imported in their place.
bool hasBody(const onnx::NodeProto &node);

/// Inlines the functions that the model defines.
llvm::LogicalResult inlineFunctions(mlir::Location file,
                                    onnx::ModelProto &model);

/// Whether outputs that operators without an importer compute are an error.
enum class UnsupportedResults { Refused, LeftOut };

/// Checks versions and the model against the operators' schemas, inlines the
/// model's functions, and names all operators that are not supported in one
/// error.
llvm::LogicalResult
prepareModel(mlir::Location file, onnx::ModelProto &model,
             UnsupportedResults results = UnsupportedResults::Refused);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_PREPAREMODEL_H
