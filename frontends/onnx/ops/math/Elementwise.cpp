// SPDX-License-Identifier: Apache-2.0

// Elementwise arithmetic, comparison, logic and conversion.

#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "mlir/IR/Matchers.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

template <typename OpT> static LogicalResult importUnary(Node &node) {
  return node.result(node.unary<OpT>(node.in(0)));
}

template <typename OpT> static LogicalResult importFloatUnary(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  return node.result(node.unary<OpT>(node.in(0)));
}

/// Rounding does not change integers.
template <typename OpT> static LogicalResult importRounding(Node &node) {
  if (!isa<FloatType>(node.type(0).getElementType()))
    return node.result(node.in(0));
  return node.result(node.unary<OpT>(node.in(0)));
}

template <typename OpT> static LogicalResult importBinary(Node &node) {
  Value lhs = node.in(0), rhs = node.in(1);
  if (failed(node.broadcastBoth(lhs, rhs)))
    return failure();
  return node.result(node.binary<OpT>(lhs, rhs));
}

template <Predicate predicate> static LogicalResult importCompare(Node &node) {
  Value lhs = node.in(0), rhs = node.in(1);
  if (failed(node.broadcastBoth(lhs, rhs)))
    return failure();
  return node.result(node.compare(predicate, lhs, rhs));
}

/// Imports Max, Min and Sum of one or more operands.
template <typename OpT> static LogicalResult importVariadic(Node &node) {
  FailureOr<SmallVector<Value>> values = node.allInputs();
  if (failed(values))
    return failure();
  if (values->empty())
    return node.malformed("no inputs");
  FailureOr<Shape> shape = node.broadcastShape(*values);
  if (failed(shape))
    return failure();
  Value result = node.broadcast(values->front(), *shape);
  for (Value value : ArrayRef(*values).drop_front()) {
    if (tensorType(value).getElementType() !=
        tensorType(result).getElementType())
      return node.malformed("operands have different element types");
    result = node.binary<OpT>(result, node.broadcast(value, *shape));
  }
  return node.result(result);
}

static LogicalResult importMean(Node &node) {
  if (failed(importVariadic<AddOp>(node)))
    return failure();
  Value sum = node.getResults()[0].value;
  return node.result(
      node.binary<DivOp>(sum, static_cast<double>(node.inputCount())));
}

static LogicalResult importReciprocal(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  return node.result(
      node.binary<DivOp>(node.splatOf(node.in(0), 1.0), node.in(0)));
}

/// Imports Pow. The usual constant exponents become multiplications, as in
/// PyTorch.
static Value powConstant(Node &node, Value base, double exponent) {
  if (exponent == 1.0)
    return base;
  if (exponent == 2.0)
    return node.binary<MulOp>(base, base);
  if (exponent == 3.0)
    return node.binary<MulOp>(node.binary<MulOp>(base, base), base);
  if (exponent == 0.5)
    return node.unary<SqrtOp>(base);
  if (exponent == -0.5)
    return node.unary<RsqrtOp>(base);
  if (exponent == -1.0)
    return node.binary<DivOp>(node.splatOf(base, 1.0), base);
  return nullptr;
}

static LogicalResult importPow(Node &node) {
  Type element = node.type(0).getElementType();
  Value base = node.in(0), exponent = node.in(1);
  FailureOr<Shape> shape = node.broadcastShape({base, exponent});
  if (failed(shape))
    return failure();
  base = node.broadcast(base, *shape);
  DenseElementsAttr constant;
  if (isa<FloatType>(element) &&
      matchPattern(exponent, m_Constant(&constant)) && constant.isSplat()) {
    double value;
    if (isa<FloatType>(constant.getElementType()))
      value = constant.getSplatValue<APFloat>().convertToDouble();
    else
      value =
          static_cast<double>(constant.getSplatValue<APInt>().getSExtValue());
    if (Value power = powConstant(node, base, value))
      return node.result(power);
  }
  // Integers are computed as doubles, which represent every relevant result
  // exactly.
  Type computed = isa<FloatType>(element) ? element : node.b.getF64Type();
  Value power =
      node.binary<PowOp>(node.cast(base, computed),
                         node.broadcast(node.cast(exponent, computed), *shape));
  return node.result(node.cast(power, element));
}

/// Imports Mod: the remainder has the sign of the divisor, or with `fmod` that
/// of the dividend.
static LogicalResult importMod(Node &node) {
  Value lhs = node.in(0), rhs = node.in(1);
  if (failed(node.broadcastBoth(lhs, rhs)))
    return failure();
  Value remainder = node.binary<RemOp>(lhs, rhs);
  if (node.intAttr("fmod", 0) ||
      tensorType(lhs).getElementType().isUnsignedInteger())
    return node.result(remainder);
  Value signsDiffer = XorOp::create(
      node.b, node.loc, node.compare(Predicate::LT, remainder, 0.0).getType(),
      node.compare(Predicate::LT, remainder, 0.0),
      node.compare(Predicate::LT, rhs, 0.0));
  Value adjust = node.binary<AndOp>(node.compare(Predicate::NE, remainder, 0.0),
                                    signsDiffer);
  return node.result(
      node.select(adjust, node.binary<AddOp>(remainder, rhs), remainder));
}

static LogicalResult importWhere(Node &node) {
  FailureOr<Shape> shape =
      node.broadcastShape({node.in(0), node.in(1), node.in(2)});
  if (failed(shape))
    return failure();
  if (!node.type(0).getElementType().isInteger(1))
    return node.malformed("the condition is not boolean");
  if (node.type(1).getElementType() != node.type(2).getElementType())
    return node.malformed("operands have different element types");
  return node.result(node.select(node.broadcast(node.in(0), *shape),
                                 node.broadcast(node.in(1), *shape),
                                 node.broadcast(node.in(2), *shape)));
}

static LogicalResult importIsNaN(Node &node) {
  return node.result(node.compare(Predicate::NE, node.in(0), node.in(0)));
}

static LogicalResult importIsInf(Node &node) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool positive = node.intAttr("detect_positive", 1);
  bool negative = node.intAttr("detect_negative", 1);
  Value x = node.in(0);
  if (positive && negative)
    return node.result(
        node.compare(Predicate::EQ, node.unary<AbsOp>(x), infinity));
  if (positive || negative)
    return node.result(
        node.compare(Predicate::EQ, x, positive ? infinity : -infinity));
  return node.result(splat(node.b, node.loc,
                           withElement(node.type(0), node.b.getI1Type()), 0.0));
}

/// Imports Log. That of a sigmoid is minus softplus of -x, which is exact where
/// the sigmoid is 0: exporters write PyTorch's logsigmoid so.
static LogicalResult importLog(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  auto sigmoid = node.in(0).getDefiningOp<LogisticOp>();
  if (!sigmoid)
    return node.result(node.unary<LogOp>(node.in(0)));
  Value x = sigmoid.getOperand();
  Value isNegative = node.compare(Predicate::LT, x, 0.0);
  Value falling = node.select(isNegative, x, node.unary<NegOp>(x));
  Value tail = node.unary<Log1pOp>(node.unary<ExpOp>(falling));
  return node.result(node.select(isNegative, node.binary<SubOp>(x, tail),
                                 node.unary<NegOp>(tail)));
}

static LogicalResult importTan(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  return node.result(node.binary<DivOp>(node.unary<SinOp>(node.in(0)),
                                        node.unary<CosOp>(node.in(0))));
}

/// Computes (exp(x) - exp(-x)) / 2 or (exp(x) + exp(-x)) / 2.
template <typename Combine> static LogicalResult importHyperbolic(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value up = node.unary<ExpOp>(node.in(0));
  Value down = node.unary<ExpOp>(node.unary<NegOp>(node.in(0)));
  return node.result(node.binary<MulOp>(node.binary<Combine>(up, down), 0.5));
}

//===----------------------------------------------------------------------===//
// Inverse functions, composed such that they are exact near 0
//===----------------------------------------------------------------------===//

/// Wraps a formula on one floating operand as an importer.
template <Value (*formula)(Node &, Value)>
static LogicalResult importFormula(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  return node.result(formula(node, node.in(0)));
}

static Value below(Node &node, Value x) {
  return node.binary<SubOp>(node.splatOf(x, 1.0), x);
}

static Value rootOf(Node &node, Value x) { return node.unary<SqrtOp>(x); }

static Value above(Node &node, Value x) { return node.binary<AddOp>(x, 1.0); }

/// 2 atan(x / (1 + sqrt(1 - x) sqrt(1 + x))), whose derivative is infinite at
/// the ends.
static Value arcSine(Node &node, Value x) {
  Value root = node.binary<MulOp>(rootOf(node, below(node, x)),
                                  rootOf(node, above(node, x)));
  return node.binary<MulOp>(
      node.unary<AtanOp>(node.binary<DivOp>(x, above(node, root))), 2.0);
}

/// 2 atan(sqrt(1 - |x|) / sqrt(1 + |x|)), and pi minus that below 0, so that no
/// quotient is infinite.
static Value arcCosine(Node &node, Value x) {
  constexpr double pi = 3.14159265358979323846;
  Value isNegative = node.compare(Predicate::LT, x, 0.0);
  Value size = node.select(isNegative, node.unary<NegOp>(x), x);
  Value ratio = node.binary<DivOp>(rootOf(node, below(node, size)),
                                   rootOf(node, above(node, size)));
  Value angle = node.binary<MulOp>(node.unary<AtanOp>(ratio), 2.0);
  return node.select(isNegative, node.binary<SubOp>(node.splatOf(x, pi), angle),
                     angle);
}

static Value areaTangent(Node &node, Value x);

/// artanh(x / sqrt(1 + x^2)) near 0, which is smooth there; sign(x) times
/// (log |x| + log(1 + sqrt(1 + 1 / x^2))) elsewhere, where no square overflows.
static Value areaSine(Node &node, Value x) {
  Value size = node.unary<AbsOp>(x);
  Value isNear = node.compare(Predicate::LT, size, 1.0);
  Value small = node.select(isNear, x, node.splatOf(x, 0.5));
  Value root = node.unary<SqrtOp>(
      node.binary<AddOp>(node.binary<MulOp>(small, small), 1.0));
  Value near = areaTangent(node, node.binary<DivOp>(small, root));
  Value large = node.select(isNear, node.splatOf(x, 1.0), size);
  Value inverse = node.binary<DivOp>(node.splatOf(x, 1.0), large);
  Value rest = node.unary<Log1pOp>(node.unary<SqrtOp>(
      node.binary<AddOp>(node.binary<MulOp>(inverse, inverse), 1.0)));
  Value far = node.binary<AddOp>(node.unary<LogOp>(large), rest);
  return node.select(isNear, near,
                     node.binary<MulOp>(node.unary<SignOp>(x), far));
}

/// log1p(y + sqrt(y (y + 2))) with y = x - 1.
static Value areaCosine(Node &node, Value x) {
  Value y = node.binary<SubOp>(x, 1.0);
  Value root = node.binary<MulOp>(
      node.unary<SqrtOp>(y), node.unary<SqrtOp>(node.binary<AddOp>(y, 2.0)));
  return node.unary<Log1pOp>(node.binary<AddOp>(y, root));
}

/// (log1p(x) - log1p(-x)) / 2.
static Value areaTangent(Node &node, Value x) {
  Value difference = node.binary<SubOp>(
      node.unary<Log1pOp>(x), node.unary<Log1pOp>(node.unary<NegOp>(x)));
  return node.binary<MulOp>(difference, 0.5);
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static LogicalResult requireInteger(Node &node) {
  Type element = node.type(0).getElementType();
  if (isa<IntegerType>(element) && !element.isInteger(1))
    return success();
  return node.malformed("the elements are not integers");
}

template <typename OpT> static LogicalResult importBitwise(Node &node) {
  if (failed(requireInteger(node)))
    return failure();
  return importBinary<OpT>(node);
}

static LogicalResult importBitwiseNot(Node &node) {
  if (failed(requireInteger(node)))
    return failure();
  return node.result(node.unary<NotOp>(node.in(0)));
}

static LogicalResult importBitShift(Node &node) {
  std::string direction = node.stringAttr("direction", "");
  if (direction == "LEFT")
    return importBitwise<ShiftLeftOp>(node);
  if (direction == "RIGHT")
    return importBitwise<ShiftRightOp>(node);
  return node.malformed("direction is '" + direction + "'");
}

/// Booleans are bytes of 0 or 1.
static LogicalResult importBitCast(Node &node) {
  auto to = static_cast<int32_t>(node.intAttr("to", 0));
  Type element = elementType(node.b.getContext(), to);
  if (!element)
    return node.unsupported("element type " + dataTypeName(to));
  Value x = node.in(0);
  Type byte = IntegerType::get(node.b.getContext(), 8, IntegerType::Unsigned);
  if (tensorType(x).getElementType().isInteger(1))
    x = node.cast(x, byte);
  Type target = element.isInteger(1) ? byte : element;
  if (target.getIntOrFloatBitWidth() != tensorType(x).getElementTypeBitWidth())
    return node.unsupported("a conversion between elements of different sizes");
  if (tensorType(x).getElementType() != target)
    x = BitcastOp::create(node.b, node.loc, withElement(tensorType(x), target),
                          x);
  return node.result(node.cast(x, element));
}

void onnx_import::registerElementwise(Registry &registry) {
  registry.add("Add", importBinary<AddOp>);
  registry.add("Sub", importBinary<SubOp>);
  registry.add("Mul", importBinary<MulOp>);
  registry.add("Div", importBinary<DivOp>);
  registry.add("Pow", importPow);
  registry.add("Mod", importMod);
  registry.add("Max", importVariadic<MaxOp>);
  registry.add("Min", importVariadic<MinOp>);
  registry.add("Sum", importVariadic<AddOp>);
  registry.add("Mean", importMean);

  registry.add("Neg", importUnary<NegOp>);
  registry.add("Abs", importUnary<AbsOp>);
  registry.add("Sign", importUnary<SignOp>);
  registry.add("Floor", importRounding<FloorOp>);
  registry.add("Ceil", importRounding<CeilOp>);
  registry.add("Round", importRounding<RoundOp>);
  registry.add("Exp", importFloatUnary<ExpOp>);
  registry.add("Log", importLog);
  registry.add("Sqrt", importFloatUnary<SqrtOp>);
  registry.add("Sin", importFloatUnary<SinOp>);
  registry.add("Cos", importFloatUnary<CosOp>);
  registry.add("Tan", importTan);
  registry.add("Atan", importFloatUnary<AtanOp>);
  registry.add("Asin", importFormula<arcSine>);
  registry.add("Acos", importFormula<arcCosine>);
  registry.add("Asinh", importFormula<areaSine>);
  registry.add("Acosh", importFormula<areaCosine>);
  registry.add("Atanh", importFormula<areaTangent>);
  registry.add("BitwiseAnd", importBitwise<AndOp>);
  registry.add("BitwiseOr", importBitwise<OrOp>);
  registry.add("BitwiseXor", importBitwise<XorOp>);
  registry.add("BitwiseNot", importBitwiseNot);
  registry.add("BitShift", importBitShift);
  registry.add("BitCast", importBitCast);
  registry.add("Sinh", importHyperbolic<SubOp>);
  registry.add("Cosh", importHyperbolic<AddOp>);
  registry.add("Tanh", importFloatUnary<TanhOp>);
  registry.add("Erf", importFloatUnary<ErfOp>);
  registry.add("Reciprocal", importReciprocal);

  registry.add("Equal", importCompare<Predicate::EQ>);
  registry.add("Less", importCompare<Predicate::LT>);
  registry.add("LessOrEqual", importCompare<Predicate::LE>);
  registry.add("Greater", importCompare<Predicate::GT>);
  registry.add("GreaterOrEqual", importCompare<Predicate::GE>);
  registry.add("IsNaN", importIsNaN);
  registry.add("IsInf", importIsInf);
  registry.add("Not", importUnary<NotOp>);
  registry.add("And", importBinary<AndOp>);
  registry.add("Or", importBinary<OrOp>);
  registry.add("Xor", importBinary<XorOp>);
  registry.add("Where", importWhere);
}
