// SPDX-License-Identifier: Apache-2.0

// Experimental operators that ONNX dropped with opset 10 at the latest: old
// converters write them, and ONNX Runtime still has them.

#include "frontends/onnx/ops/runtime/Runtime.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Computes alpha * x + beta.
LogicalResult importAffine(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value scaled = node.binary<MulOp>(node.in(0), node.floatAttr("alpha", 1.0));
  return node.result(node.binary<AddOp>(scaled, node.floatAttr("beta", 0.0)));
}

LogicalResult importScale(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  return node.result(
      node.binary<MulOp>(node.in(0), node.floatAttr("scale", 1.0)));
}

/// Computes alpha * tanh(beta * x).
LogicalResult importScaledTanh(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value inner = node.binary<MulOp>(node.in(0), node.floatAttr("beta", 1.0));
  return node.result(node.binary<MulOp>(node.unary<TanhOp>(inner),
                                        node.floatAttr("alpha", 1.0)));
}

/// Computes alpha * log(1 + exp(beta * x)), without overflow.
LogicalResult importParametricSoftplus(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value x = node.binary<MulOp>(node.in(0), node.floatAttr("beta", 1.0));
  Value condition = node.compare(Predicate::GT, x, 0.0);
  Value falling = node.select(condition, node.unary<NegOp>(x), x);
  Value tail = node.unary<Log1pOp>(node.unary<ExpOp>(falling));
  Value result = node.select(condition, node.binary<AddOp>(x, tail), tail);
  return node.result(node.binary<MulOp>(result, node.floatAttr("alpha", 1.0)));
}

/// Scales pixels, and adds a number to those of each channel.
LogicalResult importImageScaler(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  std::vector<float> bias;
  if (const onnx::AttributeProto *given = node.find("bias"))
    bias.assign(given->floats().begin(), given->floats().end());
  if (node.rank(0) != 4 ||
      static_cast<int64_t>(bias.size()) != node.shape(0)[1])
    return node.malformed(Twine(bias.size()) + " biases for shape " +
                          shapeText(node.shape(0)));
  auto type = RankedTensorType::get({node.shape(0)[1]}, node.b.getF32Type());
  Value offsets =
      node.cast(node.constant(DenseElementsAttr::get(type, ArrayRef(bias))),
                node.type(0).getElementType());
  Value scaled = node.binary<MulOp>(node.in(0), node.floatAttr("scale", 1.0));
  return node.result(
      node.binary<AddOp>(scaled, node.alongDim(offsets, node.shape(0), 1)));
}

/// Takes borders (left, top, right, bottom) off pictures, or as many rows and
/// columns behind the first two as `scale` says.
LogicalResult importCrop(Node &node) {
  std::optional<Shape> border = node.intsAttr("border");
  std::optional<Shape> size = node.intsAttr("scale");
  if (node.rank(0) != 4 || !border || border->size() != 4 ||
      (size && !size->empty() && size->size() != 2))
    return node.malformed("the attributes do not fit shape " +
                          shapeText(node.shape(0)));
  int64_t height = node.shape(0)[2], width = node.shape(0)[3];
  int64_t left = (*border)[0], top = (*border)[1];
  bool isSized = size && !size->empty();
  int64_t bottom = isSized ? top + (*size)[0] : height - (*border)[3];
  int64_t right = isSized ? left + (*size)[1] : width - (*border)[2];
  if (left < 0 || top < 0 || bottom > height || right > width ||
      top >= bottom || left >= right)
    return node.malformed("nothing is left of shape " +
                          shapeText(node.shape(0)));
  return node.result(
      node.sliceDim(node.sliceDim(node.in(0), 2, top, bottom), 3, left, right));
}

} // namespace

void onnx_import::registerExperiments(Registry &registry) {
  registry.add("Affine", importAffine);
  registry.add("Scale", importScale);
  registry.add("ScaledTanh", importScaledTanh);
  registry.add("ParametricSoftplus", importParametricSoftplus);
  registry.add("ImageScaler", importImageScaler);
  registry.add("Crop", importCrop);
}
