// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/analysis/TensorLevel.h"

using namespace mlir;

LogicalResult ingot::verifyTensorLevel(func::FuncOp function, StringRef pass) {
  auto refuse = [&](Operation *op, StringRef what) {
    InFlightDiagnostic error = op->emitOpError();
    error << what << ": --" << pass << " takes functions over tensors";
    error.attachNote() << "hint: run the pass before --ingot-place-steps";
    return failure();
  };
  auto isTensor = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  if (!llvm::hasSingleElement(function.getBody()) ||
      !isa<func::ReturnOp>(function.getBody().front().back()))
    return refuse(function, "has several blocks");
  if (!llvm::all_of(function.getArgumentTypes(), isTensor))
    return refuse(function, "has an argument that is not a tensor");
  for (Operation &op : function.getBody().front())
    if (!llvm::all_of(op.getResultTypes(), isTensor) ||
        !llvm::all_of(op.getOperandTypes(), isTensor))
      return refuse(&op, "has an operand or a result that is not a tensor");
  return success();
}
