// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Gradients of reductions.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"

using namespace mlir;
using namespace ingot;

LogicalResult ReduceOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                                 const llvm::BitVector &,
                                 MutableArrayRef<Value> operandCotangents) {
  Arithmetic a(builder, getLoc());
  ArrayRef<int64_t> shape = tensorType(getOperand()).getShape();
  auto spread = [&](Value reduced) {
    return a.broadcastOver(reduced, shape, getDims());
  };
  Value &gradient = operandCotangents[0];
  switch (getKind()) {
  case ReductionKind::Sum:
    gradient = spread(cotangents[0]);
    return success();
  case ReductionKind::Prod:
    gradient = a.div(spread(a.mul(cotangents[0], getResult())), getOperand());
    return success();
  case ReductionKind::Max:
  case ReductionKind::Min: {
    Value attains = a.compare(Predicate::EQ, getOperand(), spread(getResult()));
    Type element = tensorType(getOperand()).getElementType();
    Value count = a.sum(a.cast(attains, element), getDims());
    gradient = a.select(attains, spread(a.div(cotangents[0], count)), 0.0);
    return success();
  }
  }
  llvm_unreachable("every kind returns");
}
