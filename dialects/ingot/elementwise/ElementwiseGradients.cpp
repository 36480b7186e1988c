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

LogicalResult SqrtOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                               Gradients out) {
  Arithmetic a(builder, getLoc());
  out[0] = a.div(a.mul(g[0], 0.5), getResult());
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

/// Routes the gradient to the first operand where `first` holds, else to the
/// second.
static LogicalResult routeByCondition(Arithmetic a, Value first, Value g,
                                      Needed needed, Gradients out) {
  if (needed[0])
    out[0] = a.select(first, g, 0.0);
  if (needed[1])
    out[1] = a.select(first, 0.0, g);
  return success();
}

// max(a, b) > b holds exactly where a > b does: the gradient of relu does not
// need the operand.

LogicalResult MaxOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  return routeByCondition(a, a.compare(Predicate::GT, getResult(), getRhs()),
                          g[0], needed, out);
}

LogicalResult MinOp::buildVjp(OpBuilder &builder, Cotangents g, Needed needed,
                              Gradients out) {
  Arithmetic a(builder, getLoc());
  return routeByCondition(a, a.compare(Predicate::LT, getResult(), getRhs()),
                          g[0], needed, out);
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
