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

Value MatmulOp::buildFloat8(OpBuilder &builder,
                            ArrayRef<Float8Operand> operands) {
  const Float8Operand &lhs = operands[0], &rhs = operands[1];
  return ScaledMatmulOp::create(
      builder, getLoc(), getType(), lhs.value, rhs.value, lhs.scales,
      rhs.scales, getTransposeLhs() != lhs.isTransposed,
      getTransposeRhs() != rhs.isTransposed, lhs.layout, rhs.layout);
}

int64_t MatmulOp::getFlops() {
  Sizes sizes = getSizes();
  return 2 * sizes.batch * sizes.m * sizes.n * sizes.k;
}

namespace {
/// Emits an element of a factor, in the type of the sum, from its row and its
/// place along the inner dimension.
using EmitFactor =
    llvm::function_ref<Value(const ScalarEmitter &e, Value row, Value inner)>;
} // namespace

/// Emits a sum over the inner dimension, of `k` products, for the element at
/// `indices`.
static Value emitSum(OpBuilder &b, Location loc, ValueRange indices, int64_t k,
                     Type result, EmitFactor left, EmitFactor right) {
  ScalarEmitter e{b, loc};
  Type type = accumulatorType(result);
  size_t rank = indices.size();
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(),
                                             arith::FastMathFlags::reassoc);
  SmallVector<Value> sum = e.loops(
      {k}, e.constant(type, 0),
      [&](const ScalarEmitter &inner, ValueRange at,
          ValueRange carried) -> SmallVector<Value> {
        Value product =
            arith::MulFOp::create(b, loc, left(inner, indices[rank - 2], at[0]),
                                  right(inner, indices[rank - 1], at[0]));
        return {arith::AddFOp::create(b, loc, carried[0], product, flags)};
      });
  return e.convertFloat(sum[0], result);
}

SmallVector<Value> MatmulOp::emitElements(OpBuilder &b, Location loc,
                                          ValueRange indices,
                                          ElementSource load) {
  Type result = tensorType(getResult()).getElementType();
  auto factor = [&](unsigned operand, bool isInnerFirst) {
    return [=](const ScalarEmitter &e, Value row, Value inner) {
      SmallVector<Value> place(indices.drop_back(2));
      place.append({isInnerFirst ? inner : row, isInnerFirst ? row : inner});
      return e.convertFloat(load(operand, place), accumulatorType(result));
    };
  };
  return {emitSum(b, loc, indices, getSizes().k, result,
                  factor(0, getTransposeLhs()), factor(1, !getTransposeRhs()))};
}

//===----------------------------------------------------------------------===//
// Of 8-bit floats
//===----------------------------------------------------------------------===//

MatmulOp::Sizes ScaledMatmulOp::getSizes() {
  ArrayRef<int64_t> lhs = tensorType(getLhs()).getShape();
  ArrayRef<int64_t> result = tensorType(getResult()).getShape();
  return {1, result[0], result[1], lhs[getTransposeLhs() ? 0 : 1]};
}

bool ScaledMatmulOp::isLooped() { return true; }

Precision ScaledMatmulOp::getPrecisionRole() { return Precision::Low; }

int64_t ScaledMatmulOp::getFlops() {
  MatmulOp::Sizes sizes = getSizes();
  return 2 * sizes.m * sizes.n * sizes.k;
}

bool ScaledMatmulOp::takesEpilogue() { return true; }

/// Emits the scale of an element, as f32.
static Value emitScale(const ScalarEmitter &e, ScaleLayout layout, Value row,
                       Value inner, unsigned operand, ElementSource load) {
  constexpr int64_t run = 128, part = 32, parts = 4;
  switch (layout) {
  case ScaleLayout::Tensor:
    return load(operand, {});
  case ScaleLayout::Runs:
    return load(operand, {e.div(inner, run), row});
  case ScaleLayout::Squares:
    return load(operand, {e.div(row, run), e.div(inner, run)});
  case ScaleLayout::Tiles:
    break;
  }
  Value exponent =
      load(operand,
           {e.div(row, run), e.div(inner, part * parts), e.rem(row, part),
            e.div(e.rem(row, run), part), e.rem(e.div(inner, part), parts)});
  constexpr int64_t mantissaBits = 23;
  Type i32 = e.b.getI32Type();
  Value bits = arith::ShLIOp::create(
      e.b, e.loc, arith::ExtUIOp::create(e.b, e.loc, i32, exponent),
      e.constant(i32, mantissaBits));
  return arith::BitcastOp::create(e.b, e.loc, e.b.getF32Type(), bits);
}

SmallVector<Value> ScaledMatmulOp::emitElements(OpBuilder &b, Location loc,
                                                ValueRange indices,
                                                ElementSource load) {
  auto factor = [&](unsigned operand, ScaleLayout layout, bool isInnerFirst) {
    return [=](const ScalarEmitter &e, Value row, Value inner) -> Value {
      SmallVector<Value> place = {row, inner};
      if (isInnerFirst)
        std::swap(place[0], place[1]);
      Value element = e.convertFloat(load(operand, place), e.b.getF32Type());
      return arith::MulFOp::create(
          e.b, e.loc, element,
          emitScale(e, layout, row, inner, operand + 2, load));
    };
  };
  return {emitSum(b, loc, indices, getSizes().k,
                  tensorType(getResult()).getElementType(),
                  factor(0, getLhsLayout(), getTransposeLhs()),
                  factor(1, getRhsLayout(), !getTransposeRhs()))};
}
