// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Loops of a matmul, and its cost.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"

using namespace mlir;
using namespace ingot;

MatmulOp::Sizes MatmulOp::getSizes() {
  ArrayRef<int64_t> lhs = tensorType(getLhs()).getShape();
  ArrayRef<int64_t> result = tensorType(getResult()).getShape();
  size_t rank = result.size();
  int64_t batch = 1;
  for (int64_t size : result.drop_back(2))
    batch *= size;
  return {batch, result[rank - 2], result[rank - 1],
          lhs[getTransposeLhs() ? rank - 2 : rank - 1]};
}

bool MatmulOp::isLooped() { return true; }

Precision MatmulOp::getPrecisionRole() { return Precision::Low; }
bool MatmulOp::canKeepResult() { return true; }

SmallVector<Float8Read> MatmulOp::getFloat8Reads() {
  int64_t rank = getType().getRank();
  return {{0, getTransposeLhs() ? rank - 2 : rank - 1},
          {1, getTransposeRhs() ? rank - 1 : rank - 2}};
}

int64_t MatmulOp::getFlops() {
  Sizes sizes = getSizes();
  return 2 * sizes.batch * sizes.m * sizes.n * sizes.k;
}

SmallVector<Value> MatmulOp::emitElements(OpBuilder &b, Location loc,
                                          ValueRange indices,
                                          ElementSource load) {
  ScalarEmitter e{b, loc};
  Type result = tensorType(getResult()).getElementType();
  Type type = accumulatorType(result);
  size_t rank = indices.size();
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(),
                                             arith::FastMathFlags::reassoc);
  SmallVector<Value> sum = e.loops(
      {getSizes().k}, e.constant(type, 0),
      [&](const ScalarEmitter &, ValueRange k,
          ValueRange carried) -> SmallVector<Value> {
        SmallVector<Value> left(indices), right(indices);
        left[rank - 1] = k[0];
        right[rank - 2] = k[0];
        if (getTransposeLhs())
          std::swap(left[rank - 1], left[rank - 2]);
        if (getTransposeRhs())
          std::swap(right[rank - 1], right[rank - 2]);
        Value product =
            arith::MulFOp::create(b, loc, e.convertFloat(load(0, left), type),
                                  e.convertFloat(load(1, right), type));
        return {arith::AddFOp::create(b, loc, carried[0], product, flags)};
      });
  return {e.convertFloat(sum[0], result)};
}
