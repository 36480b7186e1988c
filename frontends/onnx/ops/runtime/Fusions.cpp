// SPDX-License-Identifier: Apache-2.0

// What ONNX Runtime's optimizers fuse: products and convolutions with what
// follows them, and biases with activations, softmax and dropout.

#include "frontends/onnx/ops/runtime/Compose.h"
#include "frontends/onnx/ops/runtime/Runtime.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Imports act(conv(x, w) + b + z).
LogicalResult importFusedConv(Node &node) {
  FailureOr<Value> result =
      importLike(node, "Conv", {node.in(0), node.in(1), node.in(2)});
  if (failed(result))
    return failure();
  result = addInput(node, *result, 3);
  SmallVector<double> params;
  if (const onnx::AttributeProto *given = node.find("activation_params"))
    params.assign(given->floats().begin(), given->floats().end());
  if (succeeded(result))
    result = activate(node, *result, params);
  if (failed(result))
    return failure();
  return node.result(*result);
}

/// Activations have up to three attributes of the fused node as parameters.
SmallVector<double> activationAttrs(Node &node, StringRef second) {
  SmallVector<double> params;
  if (node.hasAttr("activation_alpha"))
    params.push_back(node.floatAttr("activation_alpha", 0));
  if (!params.empty() && node.hasAttr(second))
    params.push_back(node.floatAttr(second, 0));
  return params;
}

/// Imports a product, by the importer of `opType`, and its activation.
LogicalResult importActivated(Node &node, StringRef opType,
                              ArrayRef<Value> inputs) {
  FailureOr<Value> result = importLike(node, opType, inputs);
  if (failed(result))
    return failure();
  StringRef second = node.stringAttr("activation", "") == "Selu"
                         ? "activation_gamma"
                         : "activation_beta";
  result = activate(node, *result, activationAttrs(node, second));
  if (failed(result))
    return failure();
  return node.result(*result);
}

LogicalResult importFusedGemm(Node &node) {
  return importActivated(node, "Gemm", {node.in(0), node.in(1), node.in(2)});
}

LogicalResult importFusedMatMulActivation(Node &node) {
  FailureOr<Value> product = importFusedProduct(node);
  if (failed(product))
    return failure();
  StringRef second = node.stringAttr("activation", "") == "Selu"
                         ? "activation_gamma"
                         : "activation_beta";
  product = activate(node, *product, activationAttrs(node, second));
  if (failed(product))
    return failure();
  return node.result(*product);
}

Value gelu(Node &node, Value x) {
  Value inner = node.unary<ErfOp>(node.binary<MulOp>(x, std::sqrt(0.5)));
  return node.binary<MulOp>(node.binary<MulOp>(x, 0.5),
                            node.binary<AddOp>(inner, 1.0));
}

/// Imports the approximation of GELU by tanh of x w + b.
LogicalResult importGemmFastGelu(Node &node) {
  FailureOr<Value> x = node.matmul(node.in(0), node.in(1));
  if (succeeded(x))
    x = addInput(node, *x, 2);
  if (failed(x))
    return failure();
  Value cube = node.binary<MulOp>(node.binary<MulOp>(*x, *x), *x);
  Value sum = node.binary<AddOp>(*x, node.binary<MulOp>(cube, 0.044715));
  Value inner = node.unary<TanhOp>(
      node.binary<MulOp>(sum, std::sqrt(2.0 / 3.14159265358979323846)));
  return node.result(node.binary<MulOp>(node.binary<MulOp>(*x, 0.5),
                                        node.binary<AddOp>(inner, 1.0)));
}

/// Imports left * GELU(right), for both halves of x + bias along the last
/// dimension.
LogicalResult importBiasSplitGelu(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Value> x = addInput(node, node.in(0), 1);
  if (failed(x))
    return failure();
  int64_t last = node.rank(0) - 1;
  if (last < 0 || node.shape(0)[last] % 2)
    return node.malformed("no two halves of shape " + shapeText(node.shape(0)));
  int64_t half = node.shape(0)[last] / 2;
  return node.result(
      node.binary<MulOp>(node.sliceDim(*x, last, 0, half),
                         gelu(node, node.sliceDim(*x, last, half, 2 * half))));
}

/// Imports x + bias + skip.
LogicalResult importBiasAdd(Node &node) {
  FailureOr<Value> sum = addInput(node, node.in(0), 1);
  if (succeeded(sum))
    sum = addInput(node, *sum, 2);
  if (failed(sum))
    return failure();
  return node.result(*sum);
}

/// Imports the softmax of x + bias, over all dimensions from the axis on.
LogicalResult importBiasSoftmax(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Value> x = addInput(node, node.in(0), 1);
  FailureOr<int64_t> axis =
      node.normalizeAxis(node.intAttr("axis", 1), node.rank(0));
  if (failed(x) || failed(axis))
    return failure();
  int64_t rows = 1, columns = 1;
  for (auto [i, size] : llvm::enumerate(node.shape(0)))
    (static_cast<int64_t>(i) < *axis ? rows : columns) *= size;
  Value flat = node.reshape(*x, {rows, columns});
  return node.result(
      node.reshape(SoftmaxOp::create(node.b, node.loc, flat.getType(), flat, 1),
                   node.shape(0)));
}

/// Imports dropout(x + bias) + residual.
LogicalResult importBiasDropout(Node &node) {
  FailureOr<Value> x = addInput(node, node.in(0), 1);
  if (failed(x))
    return failure();
  FailureOr<SmallVector<Value>> dropped =
      Standard("Dropout", 2).import(node, {*x, node.in(3), node.in(4)});
  if (failed(dropped))
    return failure();
  FailureOr<Value> result = addInput(node, dropped->front(), 2);
  if (failed(result))
    return failure();
  node.set(0, *result);
  node.set(1, (*dropped)[1]);
  return success();
}

/// Imports Dropout; the mask, which has a bit for each element, is left out.
LogicalResult importBitmaskDropout(Node &node) {
  FailureOr<SmallVector<Value>> dropped =
      Standard("Dropout").import(node, {node.in(0), node.in(1), node.in(2)});
  if (failed(dropped))
    return failure();
  return node.result(dropped->front());
}

/// Inserts a dimension of size one.
LogicalResult importExpandDims(Node &node) {
  FailureOr<Shape> axis = node.constantInts(1, "the axis");
  if (failed(axis) || axis->size() != 1)
    return failed(axis) ? failure() : node.malformed("not one axis");
  FailureOr<int64_t> dim = node.normalizeAxis(axis->front(), node.rank(0) + 1);
  if (failed(dim))
    return failure();
  Shape shape(node.shape(0));
  shape.insert(shape.begin() + *dim, 1);
  return node.result(node.reshape(node.in(0), shape));
}

/// Imports the standard operator of the same name.
LogicalResult importSame(Node &node) {
  SmallVector<Value> inputs;
  for (size_t i = 0; i < node.inputCount(); ++i)
    inputs.push_back(node.in(i));
  FailureOr<Value> result = importLike(node, node.opType(), inputs);
  if (failed(result))
    return failure();
  return node.result(*result);
}

} // namespace

void onnx_import::registerFusions(Registry &registry) {
  registry.add("com.microsoft::FusedConv", importFusedConv);
  registry.require("com.microsoft::FusedConv", 2);
  registry.add("com.microsoft::FusedGemm", importFusedGemm);
  registry.require("com.microsoft::FusedGemm", 2);
  registry.add("com.microsoft::FusedMatMulActivation",
               importFusedMatMulActivation);
  registry.require("com.microsoft::FusedMatMulActivation", 2);
  registry.add("com.microsoft::GemmFastGelu", importGemmFastGelu);
  registry.require("com.microsoft::GemmFastGelu", 2);
  registry.add("com.microsoft::BiasSplitGelu", importBiasSplitGelu);
  registry.require("com.microsoft::BiasSplitGelu", 2);
  registry.add("com.microsoft::BiasAdd", importBiasAdd);
  registry.require("com.microsoft::BiasAdd", 3);
  registry.add("com.microsoft::BiasSoftmax", importBiasSoftmax);
  registry.require("com.microsoft::BiasSoftmax", 2);
  registry.add("com.microsoft::BiasDropout", importBiasDropout);
  registry.require("com.microsoft::BiasDropout", 2);
  registry.add("com.microsoft::BitmaskDropout", importBitmaskDropout);
  registry.require("com.microsoft::BitmaskDropout", 1);
  registry.add("com.microsoft::ExpandDims", importExpandDims);
  registry.require("com.microsoft::ExpandDims", 2);
  registry.add("com.microsoft::GatherND", importSame);
  registry.require("com.microsoft::GatherND", 2);
  registry.add("com.microsoft::Trilu", importSame);
  registry.require("com.microsoft::Trilu", 1);
}
