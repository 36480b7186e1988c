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
  case ReductionKind::Prod: {
    // The product of the others, which is 0 unless all of them differ from 0.
    Value x = getOperand();
    Value isZero = a.compare(Predicate::EQ, x, 0.0);
    Value others = a.select(isZero, 1.0, x);
    Value zeros =
        a.sum(a.cast(isZero, tensorType(x).getElementType()), getDims());
    Value product =
        a.mul(cotangents[0],
              ReduceOp::create(builder, getLoc(), getResult().getType(),
                               ReductionKind::Prod, others, getDims()));
    auto where = [&](double count) {
      return spread(
          a.select(a.compare(Predicate::EQ, zeros, count), product, 0.0));
    };
    gradient = a.select(isZero, where(1.0), a.div(where(0.0), others));
    return success();
  }
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
