// SPDX-License-Identifier: Apache-2.0

// Quantization. A QuantizeLinear that a DequantizeLinear follows trains as fake
// quantization: rounding passes the gradient straight through, values beyond
// the range pass none, and scales are trained as by LSQ (Esser et al., "Learned
// step size quantization", ICLR 2020).

#include "dialects/ingot/builders/Arithmetic.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/ops/nn/Windows.h"
#include "frontends/onnx/ops/quantization/Narrow.h"
#include "frontends/onnx/ops/quantization/Observe.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Returns scales or zero points broadcast to the shape that they apply to: one
/// for all elements, one for each index of `axis`, or for each block of it.
FailureOr<Value> spread(Node &node, Value value, ArrayRef<int64_t> shape,
                        int64_t axis) {
  ArrayRef<int64_t> own = tensorType(value).getShape();
  if (tensorType(value).getNumElements() == 1)
    return node.broadcast(node.reshape(value, {}), shape);
  FailureOr<int64_t> dim =
      node.normalizeAxis(axis, static_cast<int64_t>(shape.size()));
  if (failed(dim))
    return failure();
  if (own.size() == 1 && own[0] == shape[*dim])
    return node.alongDim(value, shape, *dim);
  int64_t block = node.intAttr("block_size", 0);
  bool fits = block > 0 && own.size() == shape.size();
  for (size_t i = 0; fits && i < own.size(); ++i)
    fits = static_cast<int64_t>(i) == *dim
               ? own[i] == (shape[i] + block - 1) / block
               : own[i] == shape[i];
  if (!fits)
    return node.malformed("scales of shape " + shapeText(own) +
                          " for a tensor of shape " + shapeText(shape));
  Shape wide(own), merged(own);
  wide.insert(wide.begin() + *dim + 1, block);
  merged[*dim] *= block;
  Value repeated = node.reshape(
      broadcastOver(node.b, node.loc, value, wide, {*dim + 1}), merged);
  return node.sliceDim(repeated, *dim, 0, shape[*dim]);
}

/// Returns the zero point in f32, spread over the shape; null if it is 0.
FailureOr<Value> readZeroPoint(Node &node, size_t i, ArrayRef<int64_t> shape,
                               int64_t axis) {
  if (!node.has(i))
    return Value();
  std::optional<NarrowType> narrow = narrowType(node.narrow(i));
  Value value = node.in(i);
  value = narrow ? decodeNarrow(node, value, *narrow)
                 : node.cast(value, node.b.getF32Type());
  return spread(node, value, shape, axis);
}

/// The type of quantized elements, and their range.
struct Quantized {
  Type element;
  std::optional<NarrowType> narrow;
  int32_t dataType;
  double lowest, highest;
};

FailureOr<Quantized> quantizedType(Node &node, int32_t dataType) {
  Quantized type{nullptr, narrowType(dataType), dataType, 0, 0};
  if (type.narrow && type.narrow->isFloat()) {
    type.element = narrowStorage(node.b.getContext(), *type.narrow);
    type.highest = narrowValue(*type.narrow, type.narrow->largest);
    type.lowest = -type.highest;
    return type;
  }
  type.element = type.narrow ? narrowStorage(node.b.getContext(), *type.narrow)
                             : elementType(node.b.getContext(), dataType);
  if (!type.element || !type.element.isInteger() ||
      type.element.getIntOrFloatBitWidth() > 16)
    return node.unsupported("quantization to " + dataTypeName(dataType));
  unsigned width =
      type.narrow ? type.narrow->width : type.element.getIntOrFloatBitWidth();
  bool isSigned =
      type.narrow ? type.narrow->isSigned : !type.element.isUnsignedInteger();
  double count = static_cast<double>(uint64_t(1) << width);
  type.lowest = isSigned ? -count / 2 : 0.0;
  type.highest = isSigned ? count / 2 - 1 : count - 1;
  return type;
}

/// Quantizes x of f32: the result's gradient belongs to a clipped quotient.
FailureOr<Binding> quantize(Node &node, Value x, Value scale, Value zeroPoint,
                            const Quantized &type, bool saturate) {
  Value quotient = node.binary<DivOp>(x, scale);
  Binding result;
  auto clip = [&](Value value) {
    return node.binary<MinOp>(node.binary<MaxOp>(value, type.lowest),
                              type.highest);
  };
  auto shift = [&](Value value) {
    return zeroPoint ? node.binary<AddOp>(value, zeroPoint) : value;
  };
  if (type.narrow && type.narrow->isFloat()) {
    result.value = encodeNarrow(node, quotient, *type.narrow, saturate);
    result.smooth = clip(quotient);
  } else {
    Value rounded = shift(node.unary<RoundOp>(quotient));
    result.value = node.cast(clip(rounded), type.element);
    result.smooth = clip(shift(quotient));
  }
  if (type.narrow)
    result.narrow = type.dataType;
  return result;
}

LogicalResult importQuantizeLinear(Node &node) {
  int64_t axis = node.intAttr("axis", 1);
  auto asked = static_cast<int32_t>(node.intAttr("output_dtype", 0));
  int32_t given = 0;
  if (node.has(2))
    given = node.narrow(2) ? node.narrow(2)
                           : dataTypeOf(node.type(2).getElementType());
  if (asked && given && asked != given)
    return node.malformed("output_dtype contradicts the zero point");
  int32_t dataType = given ? given : asked;
  FailureOr<Quantized> type =
      quantizedType(node, dataType ? dataType : onnx::TensorProto::UINT8);
  if (failed(type))
    return failure();
  Type f32 = node.b.getF32Type();
  Value x = node.cast(node.in(0), f32), one = node.cast(node.in(1), f32);
  const Quantizer *quantizer =
      node.graph.findQuantizer(node.getProto().input(1));
  if (quantizer) {
    observe(node, *quantizer, x);
    // Where scales are not known, nobody reads the codes.
    one = node.binary<MaxOp>(readScale(node, *quantizer, x),
                             Quantizer::kLeastScale);
  }
  FailureOr<Value> scale = spread(node, one, node.shape(0), axis);
  FailureOr<Value> zeroPoint = readZeroPoint(node, 2, node.shape(0), axis);
  if (failed(scale) || failed(zeroPoint))
    return failure();
  FailureOr<Binding> result =
      quantize(node, x, *scale, *zeroPoint, *type, node.intAttr("saturate", 1));
  if (failed(result))
    return failure();
  if (quantizer)
    result->exact = x;
  node.setBinding(0, std::move(*result));
  return success();
}

/// Returns (x - zero point) * scale in f32, where x may be quantized here.
FailureOr<Value> dequantize(Node &node, size_t x, size_t scale, size_t zero,
                            int64_t axis) {
  ArrayRef<int64_t> shape = node.shape(x);
  Type f32 = node.b.getF32Type();
  Value exact = node.binding(x)->exact, one = node.cast(node.in(scale), f32);
  if (exact)
    one = readScale(node,
                    *node.graph.findQuantizer(
                        node.getProto().input(static_cast<int>(scale))),
                    exact);
  std::optional<NarrowType> narrow = narrowType(node.narrow(x));
  Value value = narrow ? decodeNarrow(node, node.in(x), *narrow)
                       : node.cast(node.in(x), f32);
  if (Value smooth = node.binding(x)->smooth)
    value = StraightThroughOp::create(node.b, node.loc, value.getType(),
                                      node.cast(smooth, f32), value);
  FailureOr<Value> factor = spread(node, one, shape, axis);
  FailureOr<Value> offset = readZeroPoint(node, zero, shape, axis);
  if (failed(factor) || failed(offset))
    return failure();
  if (*offset)
    value = node.binary<SubOp>(value, *offset);
  value = node.binary<MulOp>(value, *factor);
  if (!exact)
    return value;
  FailureOr<Value> isKnown =
      spread(node, node.compare(Predicate::GT, one, 0.0), shape, axis);
  if (failed(isKnown))
    return failure();
  return node.select(*isKnown, value, exact);
}

LogicalResult importDequantizeLinear(Node &node) {
  FailureOr<Value> value = dequantize(node, 0, 1, 2, node.intAttr("axis", 1));
  if (failed(value))
    return failure();
  auto dtype = static_cast<int32_t>(node.intAttr("output_dtype", 0));
  Type element = dtype ? elementType(node.b.getContext(), dtype)
                       : node.type(1).getElementType();
  if (!isa_and_nonnull<FloatType>(element))
    return node.unsupported("element type " + dataTypeName(dtype));
  return node.result(node.cast(*value, element));
}

/// Quantizes to uint8 with the scale and zero point of x's own range.
LogicalResult importDynamicQuantizeLinear(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Arithmetic a(node.b, node.loc);
  Type f32 = node.b.getF32Type();
  Value x = node.cast(node.in(0), f32);
  auto dims = Arithmetic::allDims(x);
  Value high = a.max(node.reduce(ReductionKind::Max, x, dims, false), 0.0);
  Value low = a.min(node.reduce(ReductionKind::Min, x, dims, false), 0.0);
  Value scale = a.div(a.sub(high, low), 255.0);
  // A tensor of zeros has any scale.
  Value isZero = a.compare(Predicate::EQ, scale, 0.0);
  Value divisor = a.select(isZero, 1.0, scale);
  Value zeroPoint =
      node.unary<RoundOp>(a.min(a.max(a.neg(a.div(low, divisor)), 0.0), 255.0));
  FailureOr<Quantized> type = quantizedType(node, onnx::TensorProto::UINT8);
  if (failed(type))
    return failure();
  FailureOr<Binding> result =
      quantize(node, x, node.broadcast(divisor, node.shape(0)),
               node.broadcast(zeroPoint, node.shape(0)), *type, true);
  if (failed(result))
    return failure();
  node.setBinding(0, std::move(*result));
  node.set(1, scale);
  node.set(2, node.cast(zeroPoint, type->element));
  return success();
}

//===----------------------------------------------------------------------===//
// Products of integers, which double-precision numbers hold exactly
//===----------------------------------------------------------------------===//

/// Returns x - zero point, in f64. A vector of zero points is one for each row
/// of the first operand of a product, and for each column of the second.
Value shifted(Node &node, size_t x, size_t zero, int64_t dim) {
  Type f64 = node.b.getF64Type();
  Value value = node.cast(node.in(x), f64);
  if (!node.has(zero))
    return value;
  Value offset = node.cast(node.in(zero), f64);
  ArrayRef<int64_t> shape = node.shape(x);
  if (tensorType(offset).getNumElements() == 1)
    offset = node.broadcast(node.reshape(offset, {}), shape);
  else if (tensorType(offset).getRank() == 1)
    offset = node.alongDim(offset, shape, dim);
  else
    offset = node.broadcast(offset, shape);
  return node.binary<SubOp>(value, offset);
}

bool fitsAlong(Node &node, size_t x, size_t zero, int64_t dim) {
  if (!node.has(zero) || node.type(zero).getNumElements() == 1)
    return true;
  if (dim < 0)
    return false;
  if (node.rank(zero) == 1)
    return node.shape(zero)[0] == node.shape(x)[dim];
  if (node.rank(zero) != node.rank(x))
    return false;
  for (auto [own, other] : llvm::zip_equal(node.shape(zero), node.shape(x)))
    if (own != 1 && own != other)
      return false;
  return true;
}

LogicalResult importMatMulInteger(Node &node) {
  int64_t row = node.rank(0) - 2, column = node.rank(1) - 1;
  if (!fitsAlong(node, 0, 2, row) || !fitsAlong(node, 1, 3, column))
    return node.malformed("zero points do not fit the operands");
  FailureOr<Value> product =
      node.matmul(shifted(node, 0, 2, row), shifted(node, 1, 3, column));
  if (failed(product))
    return failure();
  return node.result(node.cast(*product, node.b.getI32Type()));
}

/// Quantizes a product of quantized operands: y = a b (scale a)(scale b) /
/// (scale y) + zero point.
FailureOr<Binding> requantize(Node &node, Value value, size_t scale,
                              size_t zero) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  Type f32 = node.b.getF32Type();
  int32_t dataType = node.narrow(zero)
                         ? node.narrow(zero)
                         : dataTypeOf(node.type(zero).getElementType());
  FailureOr<Quantized> type = quantizedType(node, dataType);
  if (failed(type))
    return failure();
  FailureOr<Value> factor =
      spread(node, node.cast(node.in(scale), f32), shape, 0);
  FailureOr<Value> offset = readZeroPoint(node, zero, shape, 0);
  if (failed(factor) || failed(offset))
    return failure();
  return quantize(node, value, *factor, *offset, *type, true);
}

LogicalResult importQLinearMatMul(Node &node) {
  FailureOr<Value> a = dequantize(node, 0, 1, 2, node.rank(0) - 2);
  FailureOr<Value> b = dequantize(node, 3, 4, 5, node.rank(3) - 1);
  if (failed(a) || failed(b))
    return failure();
  FailureOr<Value> product = node.matmul(*a, *b);
  if (failed(product))
    return failure();
  FailureOr<Binding> result = requantize(node, *product, 6, 7);
  if (failed(result))
    return failure();
  node.setBinding(0, std::move(*result));
  return success();
}

LogicalResult importConvInteger(Node &node) {
  if (!fitsAlong(node, 0, 2, -1) || !fitsAlong(node, 1, 3, 0))
    return node.malformed("zero points do not fit the operands");
  Value x = shifted(node, 0, 2, 0), filter = shifted(node, 1, 3, 0);
  FailureOr<Value> result = convolve(node, x, filter);
  if (failed(result))
    return failure();
  return node.result(node.cast(*result, node.b.getI32Type()));
}

LogicalResult importQLinearConv(Node &node) {
  FailureOr<Value> x = dequantize(node, 0, 1, 2, 1);
  FailureOr<Value> filter = dequantize(node, 3, 4, 5, 0);
  if (failed(x) || failed(filter))
    return failure();
  FailureOr<Value> product = convolve(node, *x, *filter);
  if (failed(product))
    return failure();
  if (node.has(8)) {
    // The bias has the scale of the product.
    ArrayRef<int64_t> shape = tensorType(*product).getShape();
    Type f32 = node.b.getF32Type();
    Value scale = node.binary<MulOp>(
        node.broadcast(node.reshape(node.cast(node.in(1), f32), {}),
                       node.shape(8)),
        node.type(4).getNumElements() == 1
            ? node.broadcast(node.reshape(node.cast(node.in(4), f32), {}),
                             node.shape(8))
            : node.cast(node.in(4), f32));
    Value bias = node.binary<MulOp>(node.cast(node.in(8), f32), scale);
    product = node.binary<AddOp>(*product, node.alongDim(bias, shape, 1));
  }
  FailureOr<Binding> result = requantize(node, *product, 6, 7);
  if (failed(result))
    return failure();
  node.setBinding(0, std::move(*result));
  return success();
}

} // namespace

void onnx_import::registerQuantization(Registry &registry) {
  registry.add("QuantizeLinear", importQuantizeLinear);
  registry.add("DequantizeLinear", importDequantizeLinear);
  registry.add("com.microsoft::QuantizeLinear", importQuantizeLinear);
  registry.add("com.microsoft::DequantizeLinear", importDequantizeLinear);
  registry.require("com.microsoft::QuantizeLinear", 2);
  registry.require("com.microsoft::DequantizeLinear", 2);
  registry.add("DynamicQuantizeLinear", importDynamicQuantizeLinear);
  registry.add("MatMulInteger", importMatMulInteger);
  registry.add("QLinearMatMul", importQLinearMatMul);
  registry.add("ConvInteger", importConvInteger);
  registry.add("QLinearConv", importQLinearConv);
}
