// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/NarrowTypes.h"
#include "onnx/onnx_pb.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ingot::onnx_import;
using onnx::TensorProto;

std::optional<NarrowType> ingot::onnx_import::narrowType(int32_t dataType) {
  auto integer = [](unsigned width, bool isSigned) {
    return NarrowType{width, isSigned, 0, 0, 0, 0, 0, 0, false, false};
  };
  switch (dataType) {
  case TensorProto::INT4:
    return integer(4, true);
  case TensorProto::UINT4:
    return integer(4, false);
  case TensorProto::INT2:
    return integer(2, true);
  case TensorProto::UINT2:
    return integer(2, false);
  case TensorProto::FLOAT8E4M3FN:
    return NarrowType{8, true, 4, 3, 7, 0x7e, 0x7f, 0x7f, false, false};
  case TensorProto::FLOAT8E4M3FNUZ:
    return NarrowType{8, true, 4, 3, 8, 0x7f, 0x80, 0x80, true, false};
  case TensorProto::FLOAT8E5M2:
    return NarrowType{8, true, 5, 2, 15, 0x7b, 0x7f, 0x7c, false, false};
  case TensorProto::FLOAT8E5M2FNUZ:
    return NarrowType{8, true, 5, 2, 16, 0x7f, 0x80, 0x80, true, false};
  case TensorProto::FLOAT4E2M1:
    return NarrowType{4, true, 2, 1, 1, 0x7, 0x8, 0x7, false, false};
  case TensorProto::FLOAT8E8M0:
    return NarrowType{8, false, 8, 0, 127, 0xfe, 0xff, 0xff, false, true};
  default:
    return std::nullopt;
  }
}

Type ingot::onnx_import::narrowStorage(MLIRContext *context,
                                       const NarrowType &type) {
  bool isSigned = !type.isFloat() && type.isSigned;
  return IntegerType::get(
      context, 8, isSigned ? IntegerType::Signless : IntegerType::Unsigned);
}

double ingot::onnx_import::narrowValue(const NarrowType &type, unsigned bits) {
  if (!type.isFloat())
    return type.isSigned ? static_cast<double>(static_cast<int8_t>(bits))
                         : static_cast<double>(bits);
  if (type.isScale)
    return bits == type.nan ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, static_cast<int>(bits) - 127);
  unsigned sign = 1U << (type.exponentBits + type.mantissaBits);
  unsigned size = bits & (sign - 1);
  // The four-bit type has neither NaN nor infinity.
  if (type.width == 8) {
    if (type.hasOneZero ? bits == type.nan : size > type.infinity)
      return std::numeric_limits<double>::quiet_NaN();
    if (size == type.nan)
      return std::numeric_limits<double>::quiet_NaN();
    if (!type.hasOneZero && size > type.largest && size == type.infinity)
      return bits & sign ? -std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::infinity();
  }
  unsigned mantissa = size & ((1U << type.mantissaBits) - 1);
  unsigned exponent = size >> type.mantissaBits;
  unsigned whole = exponent ? (1U << type.mantissaBits) + mantissa : mantissa;
  int power = static_cast<int>(exponent ? exponent : 1) - type.bias -
              static_cast<int>(type.mantissaBits);
  double value = std::ldexp(static_cast<double>(whole), power);
  return bits & sign ? -value : value;
}

std::string ingot::onnx_import::unpackNarrow(const NarrowType &type,
                                             StringRef bytes, int64_t count) {
  unsigned perByte = 8 / type.width;
  std::string elements(count, '\0');
  for (int64_t i = 0; i < count; ++i) {
    auto byte = static_cast<uint8_t>(bytes[i / perByte]);
    unsigned shift = static_cast<unsigned>(i % perByte) * type.width;
    unsigned bits = (byte >> shift) & ((1U << type.width) - 1);
    if (!type.isFloat() && type.isSigned && (bits >> (type.width - 1)))
      bits |= ~((1U << type.width) - 1);
    elements[i] = static_cast<char>(bits);
  }
  return elements;
}
