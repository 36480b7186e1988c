// SPDX-License-Identifier: Apache-2.0

// Activations, composed of primitives. Where a formula has branches, the branch
// that is not taken must have a finite derivative: its gradient is multiplied
// by zero.

#include "frontends/onnx/model/Node.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Wraps a formula on one floating operand as an importer.
template <Value (*formula)(Node &, Value)>
LogicalResult importFormula(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  return node.result(formula(node, node.in(0)));
}

Value logistic(Node &node, Value x) { return node.unary<LogisticOp>(x); }

Value isPositive(Node &node, Value x) {
  return node.compare(Predicate::GT, x, 0.0);
}

/// Computes alpha * (exp(x) - 1) where x is not positive, and `positive`
/// elsewhere.
Value exponentialBranch(Node &node, Value x, double alpha, Value positive) {
  Value condition = isPositive(node, x);
  Value safe = node.select(condition, node.splatOf(x, 0.0), x);
  Value less = node.binary<SubOp>(node.unary<ExpOp>(safe), 1.0);
  return node.select(condition, positive,
                     alpha == 1.0 ? less : node.binary<MulOp>(less, alpha));
}

Value elu(Node &node, Value x) {
  return exponentialBranch(node, x, node.floatAttr("alpha", 1.0), x);
}

Value selu(Node &node, Value x) {
  double alpha = node.floatAttr("alpha", 1.6732632423543772f);
  double gamma = node.floatAttr("gamma", 1.0507009873554805f);
  return node.binary<MulOp>(exponentialBranch(node, x, alpha, x), gamma);
}

Value celu(Node &node, Value x) {
  double alpha = node.floatAttr("alpha", 1.0);
  Value condition = isPositive(node, x);
  Value safe = node.select(condition, node.splatOf(x, 0.0), x);
  Value grown = node.unary<ExpOp>(node.binary<DivOp>(safe, alpha));
  return node.select(condition, x,
                     node.binary<MulOp>(node.binary<SubOp>(grown, 1.0), alpha));
}

/// Computes log(1 + exp(x)) without overflow, and with derivative 1/2 at 0.
Value softplus(Node &node, Value x) {
  Value condition = isPositive(node, x);
  Value falling = node.select(condition, node.unary<NegOp>(x), x);
  Value tail = node.unary<Log1pOp>(node.unary<ExpOp>(falling));
  return node.select(condition, node.binary<AddOp>(x, tail), tail);
}

Value softsign(Node &node, Value x) {
  return node.binary<DivOp>(x, node.binary<AddOp>(node.unary<AbsOp>(x), 1.0));
}

/// Computes min(max(alpha * x + beta, 0), 1).
Value hardLogistic(Node &node, Value x, double alpha, double beta) {
  Value line = node.binary<AddOp>(node.binary<MulOp>(x, alpha), beta);
  return node.binary<MinOp>(node.binary<MaxOp>(line, 0.0), 1.0);
}

Value hardSigmoid(Node &node, Value x) {
  return hardLogistic(node, x, node.floatAttr("alpha", 0.2),
                      node.floatAttr("beta", 0.5));
}

Value hardSwish(Node &node, Value x) {
  return node.binary<MulOp>(x, hardLogistic(node, x, 1.0 / 6.0, 0.5));
}

Value mish(Node &node, Value x) {
  return node.binary<MulOp>(x, node.unary<TanhOp>(softplus(node, x)));
}

Value swish(Node &node, Value x) {
  double alpha = node.floatAttr("alpha", 1.0);
  Value scaled = alpha == 1.0 ? x : node.binary<MulOp>(x, alpha);
  return node.binary<MulOp>(x, logistic(node, scaled));
}

Value thresholdedRelu(Node &node, Value x) {
  return node.select(
      node.compare(Predicate::GT, x, node.floatAttr("alpha", 1.0)), x,
      node.splatOf(x, 0.0));
}

/// Computes x - bias above lambd, x + bias below -lambd, and 0 between.
Value shrink(Node &node, Value x) {
  double lambd = node.floatAttr("lambd", 0.5);
  double bias = node.floatAttr("bias", 0.0);
  Value below = node.select(node.compare(Predicate::LT, x, -lambd),
                            node.binary<AddOp>(x, bias), node.splatOf(x, 0.0));
  return node.select(node.compare(Predicate::GT, x, lambd),
                     node.binary<SubOp>(x, bias), below);
}

Value leakyRelu(Node &node, Value x) {
  return node.select(isPositive(node, x), x,
                     node.binary<MulOp>(x, node.floatAttr("alpha", 0.01)));
}

/// Computes x / 2 * (1 + erf(x / sqrt(2))), or its approximation through tanh.
Value gelu(Node &node, Value x, bool approximate) {
  Value inner;
  if (approximate) {
    Value cube = node.binary<MulOp>(node.binary<MulOp>(x, x), x);
    Value sum = node.binary<AddOp>(x, node.binary<MulOp>(cube, 0.044715));
    inner = node.unary<TanhOp>(
        node.binary<MulOp>(sum, std::sqrt(2.0 / 3.14159265358979323846)));
  } else {
    inner = node.unary<ErfOp>(node.binary<MulOp>(x, std::sqrt(0.5)));
  }
  return node.binary<MulOp>(node.binary<MulOp>(x, 0.5),
                            node.binary<AddOp>(inner, 1.0));
}

LogicalResult importGelu(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  std::string approximate = node.stringAttr("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.malformed("approximate is '" + approximate + "'");
  return node.result(gelu(node, node.in(0), approximate == "tanh"));
}

LogicalResult importRelu(Node &node) {
  return node.result(node.binary<MaxOp>(node.in(0), 0.0));
}

LogicalResult importPRelu(Node &node) {
  Value x = node.in(0), slope = node.in(1);
  FailureOr<Shape> shape = node.broadcastShape({x, slope});
  if (failed(shape))
    return failure();
  if (!llvm::equal(*shape, node.shape(0)))
    return node.malformed("the slope " + shapeText(node.shape(1)) +
                          " does not broadcast to " + shapeText(node.shape(0)));
  slope = node.broadcast(slope, *shape);
  // Infinity, which is not multiplied, has no part in the slope's gradient.
  Value condition = isPositive(node, x);
  Value rest = node.select(condition, node.splatOf(x, 0.0), x);
  return node.result(
      node.select(condition, x, node.binary<MulOp>(rest, slope)));
}

/// Bounds are attributes before opset 11 and scalar inputs since. No gradient
/// passes at a bound that is a constant, and half of it at one that is
/// computed, as in PyTorch.
LogicalResult importClip(Node &node) {
  Value x = node.in(0);
  auto clip = [&](bool isLow, Value bound) -> LogicalResult {
    if (tensorType(bound).getNumElements() != 1)
      return node.malformed("a bound is not a scalar");
    bool isConstant = matchPattern(bound, m_Constant());
    Value limit =
        node.broadcast(node.reshape(bound, {}), tensorType(x).getShape());
    if (isConstant)
      x = node.select(
          node.compare(isLow ? Predicate::LE : Predicate::GE, x, limit), limit,
          x);
    else
      x = isLow ? node.binary<MaxOp>(x, limit) : node.binary<MinOp>(x, limit);
    return success();
  };
  auto scalar = [&](double value) {
    return splat(node.b, node.loc,
                 RankedTensorType::get({}, tensorType(x).getElementType()),
                 value);
  };
  Value low, high;
  if (node.opset < 11) {
    if (node.hasAttr("min"))
      low = scalar(node.floatAttr("min", 0));
    if (node.hasAttr("max"))
      high = scalar(node.floatAttr("max", 0));
  } else {
    low = node.in(1);
    high = node.in(2);
  }
  if (low && failed(clip(/*isLow=*/true, low)))
    return failure();
  if (high && failed(clip(/*isLow=*/false, high)))
    return failure();
  return node.result(x);
}

} // namespace

void onnx_import::registerActivations(Registry &registry) {
  registry.add("Sigmoid", importFormula<logistic>);
  registry.add("Relu", importRelu);
  registry.add("LeakyRelu", importFormula<leakyRelu>);
  registry.add("PRelu", importPRelu);
  registry.add("ThresholdedRelu", importFormula<thresholdedRelu>);
  registry.add("Shrink", importFormula<shrink>);
  registry.add("Elu", importFormula<elu>);
  registry.add("Selu", importFormula<selu>);
  registry.add("Celu", importFormula<celu>);
  registry.add("Softplus", importFormula<softplus>);
  registry.add("Softsign", importFormula<softsign>);
  registry.add("HardSigmoid", importFormula<hardSigmoid>);
  registry.add("HardSwish", importFormula<hardSwish>);
  registry.add("Mish", importFormula<mish>);
  registry.add("Swish", importFormula<swish>);
  registry.add("Gelu", importGelu);
  registry.add("Clip", importClip);
}
