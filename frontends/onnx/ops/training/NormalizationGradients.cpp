// SPDX-License-Identifier: Apache-2.0

// Gradients of softmax, normalizations and dropout. The forward op computes the
// statistics that the gradient reads: it is the one whose results the node's
// inputs are.

#include "dialects/ingot/builders/Arithmetic.h"
#include "frontends/onnx/ops/nn/Normalization.h"
#include "frontends/onnx/ops/training/Gradients.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Imports the gradient of a softmax or its logarithm, given those of the
/// result and the result. Before opset 13, the dimensions from the axis on are
/// one.
template <typename OpT, bool flattens>
static LogicalResult importSoftmaxGradient(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.type(0) != node.type(1))
    return node.malformed("the gradient " + shapeText(node.shape(0)) + " for " +
                          shapeText(node.shape(1)));
  FailureOr<int64_t> axis =
      node.normalizeAxis(node.intAttr("axis", flattens ? 1 : -1), node.rank(0));
  if (failed(axis))
    return failure();
  int64_t dim = *axis;
  Value dy = node.in(0), y = node.in(1);
  if (auto op = y.getDefiningOp<OpT>();
      op && static_cast<int64_t>(op.getDim()) == dim &&
      (!flattens || dim + 1 == node.rank(0)))
    return setGradients(node, op, {dy}, {0});
  if (flattens && dim + 1 != node.rank(0)) {
    int64_t rows = llvm::product_of(node.shape(0).take_front(dim));
    int64_t columns = llvm::product_of(node.shape(0).drop_front(dim));
    dy = node.reshape(dy, {rows, columns});
    y = node.reshape(y, {rows, columns});
    dim = 1;
  }
  Arithmetic a(node.b, node.loc);
  ArrayRef<int64_t> shape = tensorType(dy).getShape();
  constexpr bool isLogarithm = std::is_same_v<OpT, LogSoftmaxOp>;
  Value g = widen(a, dy), p = widen(a, y), dx;
  if (isLogarithm)
    dx = a.sub(g, a.mul(a.exp(p), a.broadcastOver(a.sum(g, dim), shape, dim)));
  else
    dx = a.mul(a.sub(g, a.broadcastOver(a.sum(a.mul(g, p), dim), shape, dim)),
               p);
  return node.result(node.reshape(narrow(a, dx, dy), node.shape(0)));
}

/// Returns the value that a reshape or cast was made from.
static Value source(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The gradients of the scale and the bias of a norm of the last dimensions,
/// which are summed over the other dimensions and those that were broadcast.
static LogicalResult importThroughForward(Node &node, StringRef opType) {
  SmallVector<Value> inputs = {node.in(1), node.in(2)};
  SmallVector<unsigned> wanted = {0, 1};
  // The gradient of a bias does not depend on its values.
  if (node.wants(2)) {
    inputs.push_back(node.splatOf(node.in(2), 0.0));
    wanted.push_back(2);
  }
  FailureOr<SmallVector<Value>> gradients =
      pullBack(node, opType, inputs, {node.in(0)}, wanted);
  if (failed(gradients))
    return failure();
  setResults(node, *gradients, inputs);
  return success();
}

/// Inputs: the gradient, the operand, the scale, the mean and the reciprocal
/// standard deviation.
static LogicalResult importLayerNormalizationGrad(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value mean = source(node.in(3));
  auto op = mean.getDefiningOp<LayerNormOp>();
  if (op && op.getMean() == mean && op.getOperand() == node.in(1) &&
      op.getScale() == node.in(2) && op.getBias() &&
      op.getBias().getType() == op.getScale().getType() &&
      node.type(0) == op.getResult().getType())
    return setGradients(node, op, {node.in(0), Value(), Value()}, {0, 1, 2});
  return importThroughForward(node, "LayerNormalization");
}

/// Inputs: the gradient, the operand, the scale and the reciprocal root mean
/// square.
static LogicalResult importSimplifiedLayerNormalizationGrad(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value rstd = source(node.in(3));
  auto op = rstd.getDefiningOp<RmsNormOp>();
  if (op && op.getRstd() == rstd && op.getOperand() == node.in(1) &&
      op.getScale() == node.in(2) && node.type(0) == op.getResult().getType())
    return setGradients(node, op, {node.in(0), Value()}, {0, 1});
  return importThroughForward(node, "RMSNormalization");
}

/// Imports the norm by the root mean square, with its reciprocal as second
/// result.
static LogicalResult importSimplifiedLayerNormalization(Node &node) {
  FailureOr<NormalizedDims> dims = normalizedDims(node);
  if (failed(dims))
    return failure();
  if (dims->inner != Shape(node.shape(1)))
    return node.unsupported("a scale of shape " + shapeText(node.shape(1)) +
                            " for dimensions " + shapeText(dims->inner));
  Type element = node.type(0).getElementType();
  auto statistic = RankedTensorType::get(dims->outer, element);
  auto op =
      RmsNormOp::create(node.b, node.loc, TypeRange{node.type(0), statistic},
                        node.in(0), node.cast(node.in(1), element), dims->first,
                        llvm::APFloat(node.floatAttr("epsilon", 1e-5)));
  node.set(0, op.getResult());
  node.set(1, node.reshape(op.getRstd(), dims->kept()));
  return success();
}

/// Inputs: the gradient, the operand, the scale, and the batch's mean and
/// reciprocal standard deviation.
static LogicalResult importBatchNormalizationGrad(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value mean = node.in(3);
  auto op = mean.getDefiningOp<BatchNormOp>();
  if (!op || op.getMean() != mean ||
      source(op.getOperand()) != source(node.in(1)) ||
      node.shape(0) != tensorType(op.getResult()).getShape())
    return node.unsupported("a mean that is not that of a BatchNormInternal of "
                            "the same operand");
  Value dy = node.cast(node.in(0), tensorType(op.getResult()).getElementType());
  if (failed(setGradients(node, op, {dy, Value(), Value(), Value(), Value()},
                          {0, 1, 2})))
    return failure();
  if (node.wants(0))
    node.set(0, node.cast(node.getResults()[0].value,
                          node.type(1).getElementType()));
  return success();
}

/// Computes dy / (1 - ratio) where the mask is set.
static LogicalResult importDropoutGrad(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<DropoutMode> mode =
      dropoutMode(node, /*ratioInput=*/2, /*trains=*/true);
  if (failed(mode))
    return failure();
  auto [ratio, trains] = *mode;
  if (!(ratio >= 0.0 && ratio < 1.0))
    return node.malformed("the ratio is not in [0, 1)");
  if (!trains || ratio == 0.0)
    return node.result(node.in(0));
  if (node.shape(1) != node.shape(0) ||
      !node.type(1).getElementType().isInteger(1))
    return node.malformed("the mask " + shapeText(node.shape(1)) + " for " +
                          shapeText(node.shape(0)));
  if (auto op = node.in(1).getDefiningOp<DropoutOp>();
      op && op.getMask() == node.in(1))
    return setGradients(node, op, {node.in(0), Value()}, {0});
  Value scaled = node.binary<MulOp>(node.in(0), 1.0 / (1.0 - ratio));
  return node.result(
      node.select(node.in(1), scaled, node.splatOf(scaled, 0.0)));
}

void onnx_import::registerNormalizationGradients(Registry &registry) {
  registry.add("com.microsoft::SoftmaxGrad",
               importSoftmaxGradient<SoftmaxOp, true>);
  registry.add("com.microsoft::SoftmaxGrad_13",
               importSoftmaxGradient<SoftmaxOp, false>);
  registry.add("com.microsoft::LogSoftmaxGrad",
               importSoftmaxGradient<LogSoftmaxOp, true>);
  registry.add("com.microsoft::LogSoftmaxGrad_13",
               importSoftmaxGradient<LogSoftmaxOp, false>);
  registry.add("com.microsoft::LayerNormalizationGrad",
               importLayerNormalizationGrad);
  registry.add("SimplifiedLayerNormalization",
               importSimplifiedLayerNormalization);
  registry.add("com.microsoft::SimplifiedLayerNormalization",
               importSimplifiedLayerNormalization);
  registry.add("com.microsoft::SimplifiedLayerNormalizationGrad",
               importSimplifiedLayerNormalizationGrad);
  registry.add("com.microsoft::BatchNormalizationGrad",
               importBatchNormalizationGrad);
  registry.add("com.microsoft::DropoutGrad", importDropoutGrad);
}
