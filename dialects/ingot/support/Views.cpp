// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/support/Views.h"

#include "dialects/ingot/ir/Dialect.h"

using namespace mlir;
using namespace ingot;

Value ingot::resolveViews(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!def->hasTrait<SameBytes>())
      break;
    value = def->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return value;
}

Value ingot::skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

void ingot::forEachUseThroughViews(
    Value value, llvm::function_ref<void(OpOperand &)> visit) {
  SmallVector<Value> names = {value};
  while (!names.empty())
    for (OpOperand &use : names.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (user->hasTrait<SameBytes>())
        names.push_back(user->getResult(use.getOperandNumber()));
      else
        visit(use);
    }
}
