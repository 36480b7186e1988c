// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The inference form of a function.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_INFERENCEFORMS_H
#define INGOT_DIALECTS_INGOT_SUPPORT_INFERENCEFORMS_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ingot {

/// Replaces every op that has an inference form by it.
inline void useInferenceForms(mlir::func::FuncOp func) {
  func.walk([](ModeDependent op) {
    mlir::OpBuilder builder(op);
    op->replaceAllUsesWith(op.buildInferenceForm(builder));
    op->erase();
  });
}

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_INFERENCEFORMS_H
