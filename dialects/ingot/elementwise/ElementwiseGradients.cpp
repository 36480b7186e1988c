// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Gradients of elementwise ops. Where the derivative is a function of the
// result, the result is used: it exists in any case, while the operand may not.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;

using Cotangents = ArrayRef<Value>;
using Needed = const llvm::BitVector &;
using Gradients = MutableArrayRef<Value>;

/// Returns the value of all elements, if the value is a splat constant.
static std::optional<double> splatValue(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// Returns what a value repeats or has in another shape.
static Value skipShapes(Value value) {
  while (Operation *op = value.getDefiningOp())
    if (isa<ReshapeOp, BroadcastOp>(op))
      value = op->getOperand(0);
    else
      break;
  return value;
}

/// Returns the sum of which a value is a multiple by constants; null if it is
/// none.
static ReduceOp findSum(Value value) {
  value = skipShapes(value);
  while (Operation *op = value.getDefiningOp()) {
    if (isa<MulOp, DivOp>(op) && splatValue(skipShapes(op->getOperand(1))))
      value = skipShapes(op->getOperand(0));
    else if (isa<MulOp>(op) && splatValue(skipShapes(op->getOperand(0))))
      value = skipShapes(op->getOperand(1));
    else
      break;
  }
  auto sum = value.getDefiningOp<ReduceOp>();
  return sum && sum.getKind() == ReductionKind::Sum ? sum : ReduceOp();
}

/// Returns whether a value is a multiple of the sum of squared differences from
/// the mean of the elements that are summed.
static bool isVariance(Value value) {
  ReduceOp squares = findSum(value);
  auto square = squares ? squares.getOperand().getDefiningOp<MulOp>() : MulOp();
  if (!square || square.getLhs() != square.getRhs())
    return false;
  auto difference = skipShapes(square.getLhs()).getDefiningOp<SubOp>();
  if (!difference)
    return false;
  auto isMeanOf = [&](Value mean, Value x) {
    ReduceOp sum = findSum(mean);
    return sum && skipShapes(sum.getOperand()) == skipShapes(x);
  };
  return isMeanOf(difference.getRhs(), difference.getLhs()) ||
         isMeanOf(difference.getLhs(), difference.getRhs());
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

LogicalResult NegOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                              Gradients out) {
  out[0] = Arithmetic(builder, getLoc()).neg(g[0]);
  return success();
}

LogicalResult AbsOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  out[0] = a.mul(g[0], a.sign(getOperand()));
  return success();
}

LogicalResult ExpOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                              Gradients out) {
  out[0] = Arithmetic(builder, getLoc()).mul(g[0], getResult());
  return success();
}

LogicalResult LogOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                              Gradients out) {
  out[0] = Arithmetic(builder, getLoc()).div(g[0], getOperand());
  return success();
}

LogicalResult Log1pOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                Gradients out) {
  Arithmetic a(builder, getLoc());
  out[0] = a.div(g[0], a.add(getOperand(), 1.0));
  return success();
}

/// A standard deviation has the gradient 0 where all elements are equal, as
/// PyTorch's has; elsewhere the root of 0 has an infinite one.
LogicalResult SqrtOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                               Gradients out) {
  Arithmetic a(builder, getLoc());
  Value slope = a.div(a.mul(g[0], 0.5), getResult());
  if (isVariance(getOperand()))
    slope = a.select(a.compare(Predicate::EQ, getResult(), 0.0), 0.0, slope);
  out[0] = slope;
  return success();
}

LogicalResult RsqrtOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                Gradients out) {
  Arithmetic a(builder, getLoc());
  Value cube = a.mul(a.square(getResult()), getResult());
  out[0] = a.mul(a.mul(g[0], -0.5), cube);
  return success();
}

LogicalResult TanhOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                               Gradients out) {
  Arithmetic a(builder, getLoc());
  out[0] = a.mul(g[0], a.sub(1.0, a.square(getResult())));
  return success();
}

LogicalResult ErfOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  Value bell = a.exp(a.neg(a.square(getOperand())));
  out[0] = a.mul(g[0], a.mul(bell, 2.0 * llvm::numbers::inv_sqrtpi));
  return success();
}

LogicalResult SinOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  out[0] = a.mul(g[0], a.cos(getOperand()));
  return success();
}

LogicalResult CosOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  out[0] = a.neg(a.mul(g[0], a.sin(getOperand())));
  return success();
}

LogicalResult AtanOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                               Gradients out) {
  Arithmetic a(builder, getLoc());
  out[0] = a.div(g[0], a.add(a.square(getOperand()), 1.0));
  return success();
}

LogicalResult LogisticOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                   Gradients out) {
  Arithmetic a(builder, getLoc());
  out[0] = a.mul(g[0], a.mul(getResult(), a.sub(1.0, getResult())));
  return success();
}

// Piecewise constant: zero wherever there is a derivative.

LogicalResult SignOp::buildVjp(OpBuilder &, Cotangents, Needed, Gradients) {
  return success();
}

LogicalResult FloorOp::buildVjp(OpBuilder &, Cotangents, Needed, Gradients) {
  return success();
}

LogicalResult CeilOp::buildVjp(OpBuilder &, Cotangents, Needed, Gradients) {
  return success();
}

LogicalResult RoundOp::buildVjp(OpBuilder &, Cotangents, Needed, Gradients) {
  return success();
}

LogicalResult CastOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                               Gradients out) {
  Type from = tensorType(getOperand()).getElementType();
  Type to = tensorType(getResult()).getElementType();
  if (isa<FloatType>(from) && isa<FloatType>(to))
    out[0] = castTo(builder, getLoc(), g[0], from);
  return success();
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

LogicalResult StraightThroughOp::buildVjp(OpBuilder &, Cotangents g, Needed,
                                          Gradients out) {
  out[0] = g[0];
  return success();
}

LogicalResult AddOp::buildVjp(OpBuilder &, Cotangents g, Needed,
                              Gradients out) {
  out[0] = out[1] = g[0];
  return success();
}

LogicalResult SubOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  out[0] = g[0];
  if (needed[1])
    out[1] = Arithmetic(builder, getLoc()).neg(g[0]);
  return success();
}

LogicalResult MulOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  if (needed[0])
    out[0] = a.mul(g[0], getRhs());
  if (needed[1])
    out[1] = a.mul(g[0], getLhs());
  return success();
}

LogicalResult DivOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  Value quotient = a.div(g[0], getRhs());
  if (needed[0])
    out[0] = quotient;
  if (needed[1])
    out[1] = a.neg(a.mul(quotient, getResult()));
  return success();
}

/// rem(a, b) = a - b q, where q, a / b rounded towards zero, is piecewise
/// constant.
LogicalResult RemOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  if (needed[0])
    out[0] = g[0];
  if (needed[1]) {
    Value q = a.div(a.sub(getLhs(), getResult()), getRhs());
    out[1] = a.neg(a.mul(g[0], q));
  }
  return success();
}

/// Returns whether all elements are one constant: a bound, as of a ReLU.
static bool isBound(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getOperand();
  return splatValue(value).has_value();
}

/// Builds the gradients of max (`wins` is GT) and min (LT). A bound gets those
/// of ties, so that a ReLU passes none at 0; two tensors share them, as those
/// of PyTorch's maximum and minimum do.
static LogicalResult buildExtremumVjp(Arithmetic a, Predicate wins,
                                      Predicate loses, Value lhs, Value rhs,
                                      Value result, Value g, Needed needed,
                                      Gradients out) {
  // max(a, b) > b holds exactly where a > b does: the gradient of relu does not
  // need the operand.
  if (isBound(rhs) || isBound(lhs)) {
    bool first = isBound(rhs);
    Value isFree = a.compare(wins, result, first ? rhs : lhs);
    if (needed[0])
      out[0] = first ? a.select(isFree, g, 0.0) : a.select(isFree, 0.0, g);
    if (needed[1])
      out[1] = first ? a.select(isFree, 0.0, g) : a.select(isFree, g, 0.0);
    return success();
  }
  Value shared = a.select(a.compare(Predicate::EQ, lhs, rhs), a.mul(g, 0.5), g);
  if (needed[0])
    out[0] = a.select(a.compare(loses, lhs, rhs), 0.0, shared);
  if (needed[1])
    out[1] = a.select(a.compare(wins, lhs, rhs), 0.0, shared);
  return success();
}

LogicalResult MaxOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  return buildExtremumVjp(Arithmetic(builder, getLoc()), Predicate::GT,
                          Predicate::LT, getLhs(), getRhs(), getResult(), g[0],
                          needed, out);
}

LogicalResult MinOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  return buildExtremumVjp(Arithmetic(builder, getLoc()), Predicate::LT,
                          Predicate::GT, getLhs(), getRhs(), getResult(), g[0],
                          needed, out);
}

/// d(a^b)/da = b a^(b-1), d(a^b)/db = a^b log a. Two cases are limits that the
/// formulas miss, because they multiply 0 by infinity: b = 0, where the first
/// is 0 for every a, and a = 0 with b >= 0, where the second is 0.
LogicalResult PowOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  if (needed[0]) {
    if (std::optional<double> exponent = splatValue(getRhs())) {
      if (*exponent == 2.0)
        out[0] = a.mul(g[0], a.mul(getLhs(), 2.0));
      else if (*exponent != 0.0)
        out[0] = a.mul(
            g[0],
            a.mul(a.pow(getLhs(), a.constantLike(getRhs(), *exponent - 1.0)),
                  *exponent));
    } else {
      Value power = a.pow(getLhs(), a.sub(getRhs(), 1.0));
      Value derivative = a.mul(getRhs(), power);
      Value constant = a.compare(Predicate::EQ, getRhs(), 0.0);
      out[0] = a.mul(g[0], a.select(constant, 0.0, derivative));
    }
  }
  if (needed[1]) {
    Value derivative = a.mul(getResult(), a.log(getLhs()));
    Value limit = a.logicalAnd(a.compare(Predicate::EQ, getLhs(), 0.0),
                               a.compare(Predicate::GE, getRhs(), 0.0));
    out[1] = a.mul(g[0], a.select(limit, 0.0, derivative));
  }
  return success();
}

LogicalResult SelectOp::buildVjp(OpBuilder &builder, Cotangents g,
                                 Needed needed, Gradients out) {
  Arithmetic a(builder, getLoc());
  if (needed[1])
    out[1] = a.select(getCondition(), g[0], 0.0);
  if (needed[2])
    out[2] = a.select(getCondition(), 0.0, g[0]);
  return success();
}
