// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ONNX's element types of eight bits or less that `ingot` has no type for. A
// tensor of such elements holds each in a byte: integers as their values,
// floating-point numbers as their bits.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_NARROWTYPES_H
#define INGOT_FRONTENDS_ONNX_MODEL_NARROWTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include <optional>
#include <string>

namespace ingot::onnx_import {

/// How the bits of a narrow type are read.
struct NarrowType {
  /// Bits of an element in a file, where several share a byte.
  unsigned width;
  /// Whether integers have a sign. Unused for floats.
  bool isSigned;
  /// Bits of exponent and mantissa of floats, and the exponent's bias.
  unsigned exponentBits, mantissaBits;
  int bias;
  /// The largest finite number's bits, those of NaN, and those of infinity (or
  /// what takes its place); none has a sign.
  unsigned largest, nan, infinity;
  /// Whether the only zero is positive, because the bits of the negative one
  /// are NaN.
  bool hasOneZero;
  /// Whether the elements are powers of two, without sign.
  bool isScale;

  bool isFloat() const { return exponentBits != 0; }
};

/// Returns the description of an ONNX element type; nothing if it is not
/// narrow.
std::optional<NarrowType> narrowType(int32_t dataType);

/// Returns the element type that holds elements of a narrow type.
mlir::Type narrowStorage(mlir::MLIRContext *context, const NarrowType &type);

/// Returns the number that an element's bits (or its value, of integers)
/// stand for.
double narrowValue(const NarrowType &type, unsigned bits);

/// Returns elements of a narrow type one a byte, from bytes that several
/// share.
std::string unpackNarrow(const NarrowType &type, llvm::StringRef bytes,
                         int64_t count);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_NARROWTYPES_H
