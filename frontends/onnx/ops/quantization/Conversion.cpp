// SPDX-License-Identifier: Apache-2.0

// Cast and CastLike, also to and from narrow types. A cast to a narrow type and
// back passes the gradient straight through.

#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/ops/quantization/Narrow.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

Value onnx_import::decodeNarrow(Node &node, Value value,
                                const NarrowType &type) {
  Type f32 = node.b.getF32Type();
  if (!type.isFloat())
    return node.cast(value, f32);
  // A table of all elements.
  SmallVector<float> numbers;
  for (unsigned bits = 0; bits < (1U << type.width); ++bits)
    numbers.push_back(static_cast<float>(narrowValue(type, bits)));
  auto table =
      RankedTensorType::get({static_cast<int64_t>(numbers.size())}, f32);
  return GatherOp::create(
      node.b, node.loc, withElement(ingot::tensorType(value), f32),
      node.constant(DenseElementsAttr::get(table, ArrayRef<float>(numbers))),
      node.cast(value, node.b.getI32Type()), 0);
}

static Value bitcast(Node &node, Value value, Type element) {
  return BitcastOp::create(
      node.b, node.loc, withElement(ingot::tensorType(value), element), value);
}

/// Returns the exponents of powers of two next to positive numbers.
static Value encodeScale(Node &node, Value x, const NarrowType &type,
                         bool saturate) {
  Type i32 = node.b.getI32Type();
  std::string mode = node.stringAttr("round_mode", "up");
  Value bits = bitcast(node, x, i32);
  // The mantissa carries into the exponent where it is rounded up.
  double more = mode == "up" ? 0x7fffff : mode == "nearest" ? 0x400000 : 0;
  Value exponent =
      node.binary<ShiftRightOp>(node.binary<AddOp>(bits, more), 23.0);
  double most = saturate ? type.largest : type.nan;
  exponent = node.binary<MinOp>(exponent, most);
  Value isNumber = node.compare(Predicate::GE, x, 0.0);
  return node.select(isNumber, exponent, node.splatOf(exponent, type.nan));
}

Value onnx_import::encodeNarrow(Node &node, Value value, const NarrowType &type,
                                bool saturate) {
  Type i32 = node.b.getI32Type(), f32 = node.b.getF32Type();
  Type storage = narrowStorage(node.b.getContext(), type);
  Value x = node.cast(value, f32);
  if (type.isScale)
    return node.cast(encodeScale(node, x, type, saturate), storage);
  // Below the smallest normal number, steps have one size.
  Value size = node.unary<AbsOp>(x);
  Value exponent = node.binary<SubOp>(
      node.binary<ShiftRightOp>(bitcast(node, size, i32), 23.0), 127.0);
  int least = 1 - type.bias;
  exponent = node.binary<MaxOp>(exponent, static_cast<double>(least));
  Value power = node.binary<AddOp>(
      exponent, 127.0 - static_cast<double>(type.mantissaBits));
  Value step = bitcast(node, node.binary<ShiftLeftOp>(power, 23.0), f32);
  // The number of steps, whose carry leads into the exponent.
  Value steps =
      node.cast(node.unary<RoundOp>(node.binary<DivOp>(size, step)), i32);
  Value above = node.binary<ShiftLeftOp>(
      node.binary<SubOp>(exponent, static_cast<double>(least)),
      static_cast<double>(type.mantissaBits));
  Value code = node.binary<AddOp>(above, steps);
  unsigned beyond = saturate || type.width < 8 ? type.largest : type.infinity;
  Value isBeyond =
      node.compare(Predicate::GT, code, static_cast<double>(type.largest));
  Value isInfinite = node.compare(Predicate::EQ, size,
                                  std::numeric_limits<double>::infinity());
  isBeyond = node.binary<OrOp>(isBeyond, isInfinite);
  code = node.select(isBeyond, node.splatOf(code, static_cast<double>(beyond)),
                     code);
  double signBit = 1U << (type.exponentBits + type.mantissaBits);
  Value isNegative = node.compare(Predicate::LT, bitcast(node, x, i32), 0.0);
  if (type.hasOneZero)
    isNegative =
        node.binary<AndOp>(isNegative, node.compare(Predicate::NE, code, 0.0));
  Value negative = node.binary<OrOp>(code, signBit);
  code = node.select(isNegative, negative, code);
  Value isNaN = node.compare(Predicate::NE, x, x);
  code = node.select(isNaN, node.splatOf(code, type.nan), code);
  return node.cast(code, storage);
}

Value onnx_import::wrapNarrow(Node &node, Value value, const NarrowType &type) {
  Type storage = narrowStorage(node.b.getContext(), type);
  value = node.cast(value, storage);
  double unused = 8.0 - static_cast<double>(type.width);
  return node.binary<ShiftRightOp>(node.binary<ShiftLeftOp>(value, unused),
                                   unused);
}

static LogicalResult convert(Node &node, int32_t to) {
  std::optional<NarrowType> from = narrowType(node.narrow(0));
  std::optional<NarrowType> narrow = narrowType(to);
  Type element = narrow ? narrowStorage(node.b.getContext(), *narrow)
                        : elementType(node.b.getContext(), to);
  if (!element)
    return node.unsupported("element type " + dataTypeName(to));
  if (node.narrow(0) == to) {
    node.setBinding(0, *node.binding(0));
    return success();
  }
  Value x = node.in(0);
  // The value that the gradient belongs to, if a narrow type is on the way.
  Value smooth = node.binding(0)->smooth;
  if (from && from->isFloat())
    x = decodeNarrow(node, x, *from);
  if (!narrow) {
    Value result = node.cast(x, element);
    if (smooth && isa<FloatType>(element))
      result = StraightThroughOp::create(node.b, node.loc, result.getType(),
                                         node.cast(smooth, element), result);
    return node.result(result);
  }
  Binding binding;
  binding.narrow = to;
  if (narrow->isFloat()) {
    binding.value = encodeNarrow(node, x, *narrow, node.intAttr("saturate", 1));
    double most = narrowValue(*narrow, narrow->largest);
    if (!smooth &&
        isa<FloatType>(ingot::tensorType(node.in(0)).getElementType()) &&
        !narrow->isScale)
      smooth = node.binary<MinOp>(node.binary<MaxOp>(node.in(0), -most), most);
    binding.smooth = smooth;
  } else {
    if (isa<FloatType>(ingot::tensorType(x).getElementType()))
      x = node.cast(x, node.b.getI32Type());
    binding.value = wrapNarrow(node, x, *narrow);
  }
  node.setBinding(0, std::move(binding));
  return success();
}

static LogicalResult importCast(Node &node) {
  return convert(node, static_cast<int32_t>(node.intAttr("to", 0)));
}

static LogicalResult importCastLike(Node &node) {
  if (node.narrow(1) || node.narrow(0))
    return convert(node, node.narrow(1)
                             ? node.narrow(1)
                             : dataTypeOf(node.type(1).getElementType()));
  return node.result(node.cast(node.in(0), node.type(1).getElementType()));
}

void onnx_import::registerConversion(Registry &registry) {
  registry.add("Cast", importCast);
  registry.add("CastLike", importCastLike);
}
