// SPDX-License-Identifier: Apache-2.0

// Gradients of elementwise operators, and the activations of ONNX Runtime that
// add a bias or approximate.

#include "frontends/onnx/ops/training/Gradients.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Wraps a formula on the gradient of the result and one tensor of its shape as
/// an importer.
template <Value (*formula)(Node &, Value, Value)>
LogicalResult importGradient(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.type(0) != node.type(1))
    return node.malformed("the gradient " + shapeText(node.shape(0)) +
                          " is not of the type of " + shapeText(node.shape(1)));
  return node.result(formula(node, node.in(0), node.in(1)));
}

Value whereAbove(Node &node, Value x, Value above, Value otherwise) {
  return node.select(node.compare(Predicate::GT, x, 0.0), above, otherwise);
}

/// The operand and the result of a relu are positive at the same elements; the
/// operand need not be kept for that.
Value reluGradient(Node &node, Value dy, Value x) {
  if (auto relu = findUser<MaxOp>(x, [&](MaxOp op) {
        return op.getLhs() == x && matchPattern(op.getRhs(), m_AnyZeroFloat());
      }))
    x = relu;
  return whereAbove(node, x, dy, node.splatOf(dy, 0.0));
}

Value leakyReluGradient(Node &node, Value dy, Value y) {
  return whereAbove(node, y, dy,
                    node.binary<MulOp>(dy, node.floatAttr("alpha", 0.01)));
}

/// dy y (1 - y)
Value sigmoidGradient(Node &node, Value dy, Value y) {
  Value rest = node.binary<SubOp>(node.splatOf(y, 1.0), y);
  return node.binary<MulOp>(dy, node.binary<MulOp>(y, rest));
}

/// dy (1 - y^2)
Value tanhGradient(Node &node, Value dy, Value y) {
  Value square = node.binary<MulOp>(y, y);
  return node.binary<MulOp>(dy,
                            node.binary<SubOp>(node.splatOf(y, 1.0), square));
}

/// x times the cumulative distribution, through erf or its tanh approximation,
/// and its derivative.
struct Gelu {
  Node &node;
  Value x;
  bool approximate;

  static constexpr double kCubic = 0.044715;
  static double tanhScale() { return std::sqrt(2.0 / M_PI); }

  Value distribution() const {
    Value inner;
    if (approximate) {
      Value cube = node.binary<MulOp>(node.binary<MulOp>(x, x), x);
      Value sum = node.binary<AddOp>(x, node.binary<MulOp>(cube, kCubic));
      inner = node.unary<TanhOp>(node.binary<MulOp>(sum, tanhScale()));
    } else {
      inner = node.unary<ErfOp>(node.binary<MulOp>(x, std::sqrt(0.5)));
    }
    return node.binary<MulOp>(node.binary<AddOp>(inner, 1.0), 0.5);
  }
  Value result() const { return node.binary<MulOp>(x, distribution()); }

  /// The derivative of the distribution: the normal density, or that of the
  /// approximation.
  Value density() const {
    Value square = node.binary<MulOp>(x, x);
    if (!approximate) {
      Value bell = node.unary<ExpOp>(node.binary<MulOp>(square, -0.5));
      return node.binary<MulOp>(bell, 1.0 / std::sqrt(2.0 * M_PI));
    }
    Value slope = node.binary<AddOp>(
        node.binary<MulOp>(square, 3.0 * kCubic * tanhScale()), tanhScale());
    // With d = (1 + tanh) / 2, the derivative of tanh / 2 is 2 d (1 - d).
    Value d = distribution();
    Value rest = node.binary<SubOp>(node.splatOf(d, 1.0), d);
    return node.binary<MulOp>(
        node.binary<MulOp>(node.binary<MulOp>(d, rest), 2.0), slope);
  }
  Value gradient(Value dy) const {
    Value derivative =
        node.binary<AddOp>(distribution(), node.binary<MulOp>(x, density()));
    return node.binary<MulOp>(dy, derivative);
  }
};

template <bool approximate> Value geluGradient(Node &node, Value dy, Value x) {
  return Gelu{node, x, approximate}.gradient(dy);
}

/// Returns the sum of an input and an optional bias over its last dimension.
FailureOr<Value> addBias(Node &node, size_t input, size_t bias) {
  Value x = node.in(input);
  if (!node.has(bias))
    return x;
  Value b = node.in(bias);
  if (failed(node.broadcastBoth(x, b)))
    return failure();
  if (x.getType() != node.in(input).getType())
    return node.malformed("the bias " + shapeText(node.shape(bias)) + " for " +
                          shapeText(node.shape(input)));
  return node.binary<AddOp>(x, b);
}

template <bool approximate> LogicalResult importBiasGelu(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Value> x = addBias(node, 0, 1);
  if (failed(x))
    return failure();
  return node.result(Gelu{node, *x, approximate}.result());
}

template <bool approximate> LogicalResult importBiasGeluGradient(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Value> x = addBias(node, 1, 2);
  if (failed(x))
    return failure();
  if (node.type(0) != x->getType())
    return node.malformed("the gradient " + shapeText(node.shape(0)) + " for " +
                          shapeText(node.shape(1)));
  return node.result(Gelu{node, *x, approximate}.gradient(node.in(0)));
}

/// x / (1 + exp(-alpha x))
LogicalResult importQuickGelu(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value x = node.in(0);
  Value scaled = node.binary<MulOp>(x, node.floatAttr("alpha", 1.702));
  return node.result(node.binary<MulOp>(x, node.unary<LogisticOp>(scaled)));
}

/// With s the logistic function of a x: dy s (1 + a x (1 - s)).
Value quickGeluGradient(Node &node, Value dy, Value x) {
  Value scaled = node.binary<MulOp>(x, node.floatAttr("alpha", 1.702));
  Value s = node.unary<LogisticOp>(scaled);
  Value rest = node.binary<SubOp>(node.splatOf(s, 1.0), s);
  Value factor = node.binary<AddOp>(node.binary<MulOp>(scaled, rest), 1.0);
  return node.binary<MulOp>(dy, node.binary<MulOp>(s, factor));
}

/// Inputs: the gradient and both operands, which may be broadcast.
LogicalResult importDivGrad(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  SmallVector<Value> inputs = {node.in(1), node.in(2)};
  FailureOr<SmallVector<Value>> gradients =
      pullBack(node, "Div", inputs, {node.in(0)}, {0, 1});
  if (failed(gradients))
    return failure();
  setResults(node, *gradients, inputs);
  return success();
}

} // namespace

void onnx_import::registerActivationGradients(Registry &registry) {
  registry.add("com.microsoft::DivGrad", importDivGrad);
  registry.add("com.microsoft::ReluGrad", importGradient<reluGradient>);
  registry.add("com.microsoft::LeakyReluGrad",
               importGradient<leakyReluGradient>);
  registry.add("com.microsoft::SigmoidGrad", importGradient<sigmoidGradient>);
  registry.add("com.microsoft::TanhGrad", importGradient<tanhGradient>);
  registry.add("com.microsoft::GeluGrad", importGradient<geluGradient<false>>);
  registry.add("com.microsoft::FastGeluGrad",
               importGradient<geluGradient<true>>);
  registry.add("com.microsoft::BiasGeluGrad_dX", importBiasGeluGradient<false>);
  registry.add("com.microsoft::BiasFastGeluGrad_dX",
               importBiasGeluGradient<true>);
  registry.add("com.microsoft::QuickGeluGrad",
               importGradient<quickGeluGradient>);
  registry.add("com.microsoft::Gelu", importBiasGelu<false>);
  registry.add("com.microsoft::BiasGelu", importBiasGelu<false>);
  registry.add("com.microsoft::FastGelu", importBiasGelu<true>);
  registry.add("com.microsoft::QuickGelu", importQuickGelu);
}
