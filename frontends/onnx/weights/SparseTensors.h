// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tensors of which the file holds only what is not 0.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_WEIGHTS_SPARSETENSORS_H
#define INGOT_FRONTENDS_ONNX_WEIGHTS_SPARSETENSORS_H

#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"

namespace ingot::onnx_import {

/// Replaces sparse tensors by dense ones, which is how they are computed with.
/// Fails with a diagnostic at `file` where indices do not fit.
llvm::LogicalResult makeDense(mlir::Location file, onnx::ModelProto &model);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_WEIGHTS_SPARSETENSORS_H
