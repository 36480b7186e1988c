// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Evaluates constant values while the graph is imported, so that computed
// shapes are known.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORT_FOLDING_H
#define INGOT_FRONTENDS_ONNX_IMPORT_FOLDING_H

#include "mlir/IR/Builders.h"

namespace ingot::onnx_import {

/// Folds the ops from `first` to the end of its block, in order: those that
/// simplify, and those with constant operands and small results. Calls
/// `replaced` with each value that is removed and its replacement.
void foldFrom(mlir::OpBuilder &builder, mlir::Operation *first,
              llvm::function_ref<void(mlir::Value, mlir::Value)> replaced);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_IMPORT_FOLDING_H
