// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Writes a training graph as an ONNX model with training information: any tool
// that evaluates ONNX graphs can take the steps.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_EXPORT_TRAININGMODEL_H
#define INGOT_FRONTENDS_ONNX_EXPORT_TRAININGMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace ingot::onnx_export {

/// Returns the bytes of a ModelProto. Its graph is @predict, and its
/// training information is @train_step: `algorithm` computes the loss and the
/// next value of each state, which is an initializer, and `update_binding`
/// tells which. Hyperparameters are initializers too. Assumes the level that
/// --ingot-decompose leaves; fails, with an error, on ops that ONNX lacks.
llvm::FailureOr<std::string> writeTrainingModel(mlir::ModuleOp module);

} // namespace ingot::onnx_export

#endif // INGOT_FRONTENDS_ONNX_EXPORT_TRAININGMODEL_H
