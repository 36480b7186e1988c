// SPDX-License-Identifier: Apache-2.0

// Constants and shapes.

#include "frontends/onnx/model/NarrowTypes.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// The longest tensor that Range and ConstantOfShape may create: a model of a
/// few bytes must not exhaust memory.
static constexpr int64_t kMaxElements = int64_t(1) << 40;

static LogicalResult importConstant(Node &node) {
  MLIRContext *context = node.b.getContext();
  if (const onnx::AttributeProto *value = node.find("value")) {
    FailureOr<std::string> bytes = tensorBytes(node.loc, value->t());
    if (failed(bytes))
      return failure();
    Binding binding;
    binding.value = node.constant(
        denseAttr(onnx_import::tensorType(context, value->t()), *bytes));
    if (narrowType(value->t().data_type()))
      binding.narrow = value->t().data_type();
    node.setBinding(0, std::move(binding));
    return success();
  }
  auto floats = [&](ArrayRef<float> values, ArrayRef<int64_t> shape) {
    return node.result(node.constant(DenseElementsAttr::get(
        RankedTensorType::get(shape, node.b.getF32Type()), values)));
  };
  auto ints = [&](ArrayRef<int64_t> values, ArrayRef<int64_t> shape) {
    return node.result(node.constant(DenseElementsAttr::get(
        RankedTensorType::get(shape, node.b.getI64Type()), values)));
  };
  if (const onnx::AttributeProto *value = node.find("value_float"))
    return floats({value->f()}, {});
  if (const onnx::AttributeProto *value = node.find("value_int"))
    return ints({value->i()}, {});
  if (const onnx::AttributeProto *value = node.find("value_floats")) {
    SmallVector<float> values(value->floats().begin(), value->floats().end());
    return floats(values, {static_cast<int64_t>(values.size())});
  }
  if (const onnx::AttributeProto *value = node.find("value_ints")) {
    Shape values(value->ints().begin(), value->ints().end());
    return ints(values, {static_cast<int64_t>(values.size())});
  }
  return node.unsupported("a constant that is text or sparse");
}

/// Returns the shape, checked, as that of a type.
static LogicalResult checkShape(Node &node, ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 0)
      return node.malformed("negative size in shape " + shapeText(shape));
    if (size && elements > kMaxElements / size)
      return node.malformed("shape " + shapeText(shape) + " is too large");
    elements *= size;
  }
  return success();
}

static LogicalResult importConstantOfShape(Node &node) {
  FailureOr<Shape> shape = node.constantInts(0, "the shape");
  if (failed(shape) || failed(checkShape(node, *shape)))
    return failure();
  const onnx::AttributeProto *value = node.find("value");
  if (!value)
    return node.result(splat(node.b, node.loc,
                             RankedTensorType::get(*shape, node.b.getF32Type()),
                             0.0));
  FailureOr<std::string> bytes = tensorBytes(node.loc, value->t());
  if (failed(bytes))
    return failure();
  RankedTensorType type =
      onnx_import::tensorType(node.b.getContext(), value->t());
  if (type.getNumElements() != 1)
    return node.malformed("value has more than one element");
  if (narrowType(value->t().data_type()))
    return node.unsupported("element type " +
                            dataTypeName(value->t().data_type()));
  DenseElementsAttr one = denseAttr(type, *bytes);
  return node.result(node.constant(
      one.resizeSplat(RankedTensorType::get(*shape, type.getElementType()))));
}

static LogicalResult importShape(Node &node) {
  ArrayRef<int64_t> shape = node.shape(0);
  int64_t rank = static_cast<int64_t>(shape.size());
  auto clampAxis = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clampAxis(node.intAttr("start", 0));
  int64_t end = clampAxis(node.intAttr("end", rank));
  return node.result(
      node.constantInts(shape.slice(start, std::max<int64_t>(end - start, 0))));
}

static LogicalResult importSize(Node &node) {
  int64_t size = node.type(0).getNumElements();
  return node.result(node.reshape(node.constantInts({size}), {}));
}

static LogicalResult importRange(Node &node) {
  FailureOr<double> start = node.constantScalar(0, "start"),
                    limit = node.constantScalar(1, "limit"),
                    delta = node.constantScalar(2, "delta");
  if (failed(start) || failed(limit) || failed(delta))
    return failure();
  if (*delta == 0.0)
    return node.malformed("delta is zero");
  double length = std::ceil((*limit - *start) / *delta);
  if (!(length < static_cast<double>(kMaxElements)))
    return node.malformed("too many elements");
  Shape shape = {std::max<int64_t>(0, static_cast<int64_t>(length))};
  Value index = node.iota(shape, node.type(0).getElementType(), 0);
  Value scaled = *delta == 1.0 ? index : node.binary<MulOp>(index, *delta);
  return node.result(*start == 0.0 ? scaled
                                   : node.binary<AddOp>(scaled, *start));
}

static LogicalResult importEyeLike(Node &node) {
  if (node.rank(0) != 2)
    return node.malformed("the input is not a matrix");
  Type element = node.type(0).getElementType();
  if (const onnx::AttributeProto *dtype = node.find("dtype")) {
    element =
        elementType(node.b.getContext(), static_cast<int32_t>(dtype->i()));
    if (!element)
      return node.unsupported("element type " +
                              dataTypeName(static_cast<int32_t>(dtype->i())));
  }
  Type i64 = node.b.getI64Type();
  Value row = node.iota(node.shape(0), i64, 0);
  Value column = node.iota(node.shape(0), i64, 1);
  double k = static_cast<double>(node.intAttr("k", 0));
  return node.result(
      node.cast(node.compare(Predicate::EQ, node.binary<SubOp>(column, row), k),
                element));
}

static LogicalResult importIdentity(Node &node) {
  node.setBinding(0, *node.binding(0));
  return success();
}

void onnx_import::registerConstants(Registry &registry) {
  registry.add("Constant", importConstant);
  registry.add("ConstantOfShape", importConstantOfShape);
  registry.add("Shape", importShape);
  registry.add("Size", importSize);
  registry.add("Range", importRange);
  registry.add("EyeLike", importEyeLike);
  registry.add("Identity", importIdentity);
}
