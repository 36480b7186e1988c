// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A second model, from which the first one learns, in one module with it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_LINKTEACHER_H
#define INGOT_FRONTENDS_ONNX_LINKTEACHER_H

#include "mlir/IR/BuiltinOps.h"

namespace ingot::onnx_import {

/// Moves @forward and the states of `teacher`, an imported module, to `module`
/// as @teacher. States and nodes get the prefix `@teacher/`. Of classes of
/// inputs, data has as many as both models know. Fails where a model comes with
/// its backward pass.
llvm::LogicalResult linkTeacher(mlir::ModuleOp module, mlir::ModuleOp teacher);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_LINKTEACHER_H
