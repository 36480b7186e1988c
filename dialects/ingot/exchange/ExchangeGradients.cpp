// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Vector-Jacobian products of exchanges over axes, for the sum of what all
// ranks differentiate: the transpose of each exchange on the tensors of all
// ranks together (docs/spec/exchange.md).
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"

using namespace mlir;
using namespace ingot;

using Cotangents = ArrayRef<Value>;
using Needed = const llvm::BitVector &;
using Gradients = MutableArrayRef<Value>;

static LogicalResult refuseExtremum(Operation *op) {
  return op->emitOpError("has a gradient for sums only");
}

LogicalResult AllReduceOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                    Gradients out) {
  if (getKind() != ReductionKind::Sum)
    return refuseExtremum(*this);
  out[0] = AllReduceOp::create(builder, getLoc(), g[0].getType(), getKind(),
                               g[0], getAxes(), FlatSymbolRefAttr());
  return success();
}

LogicalResult AllGatherOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                    Gradients out) {
  out[0] =
      ReduceScatterOp::create(builder, getLoc(), getOperand().getType(),
                              ReductionKind::Sum, g[0], getDim(), getAxes());
  return success();
}

LogicalResult ReduceScatterOp::buildVjp(OpBuilder &builder, Cotangents g,
                                        Needed, Gradients out) {
  if (getKind() != ReductionKind::Sum)
    return refuseExtremum(*this);
  out[0] = AllGatherOp::create(builder, getLoc(), getOperand().getType(), g[0],
                               getDim(), getAxes());
  return success();
}

LogicalResult AllToAllOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                   Gradients out) {
  out[0] = AllToAllOp::create(builder, getLoc(), getOperand().getType(), g[0],
                              getConcat(), getSplit(), getAxes());
  return success();
}

LogicalResult PermuteOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                  Gradients out) {
  out[0] = PermuteOp::create(builder, getLoc(), g[0].getType(), g[0],
                             -static_cast<int64_t>(getBy()), getAxes());
  return success();
}
