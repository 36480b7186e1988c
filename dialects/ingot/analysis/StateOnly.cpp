// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/analysis/StateOnly.h"

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Views.h"

using namespace mlir;
using namespace ingot;

bool ingot::gathersStates(BucketEnd end) {
  auto start = end.getBucket().getDefiningOp<AllGatherStartOp>();
  return start && llvm::all_of(start.getParts(), [](Value part) {
           return isa<BlockArgument>(resolveViews(part));
         });
}

llvm::DenseSet<Operation *> ingot::findStateOnlyOps(func::FuncOp function) {
  Signature signature(function);
  llvm::DenseSet<Operation *> found;
  auto isOfStates = [&](Value operand) {
    Value tensor = resolveViews(operand);
    if (auto argument = dyn_cast<BlockArgument>(tensor))
      return static_cast<bool>(
          signature.argumentState(argument.getArgNumber()));
    return found.contains(tensor.getDefiningOp());
  };
  for (Operation &op : function.getBody().front().without_terminator())
    if (!op.hasTrait<SameBytes>() && op.getNumOperands() != 0 &&
        !isa<BucketEnd>(op) && llvm::all_of(op.getOperands(), isOfStates))
      found.insert(&op);
  return found;
}
