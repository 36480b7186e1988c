// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Sizes of the element types of tensors in files and in the trainer's memory
// (runtime/abi/Manifest.td lists them), and conversions between them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_DTYPE_H
#define INGOT_RUNTIME_CORE_DTYPE_H

#include "runtime/abi/ManifestTypes.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::runtime {

/// Returns the bytes of one element.
int64_t getSize(DType type);

/// The element type that entry points know as `abiType`, an ingot_dtype of
/// Abi.h. Throws std::invalid_argument for any other number.
DType getDType(int32_t abiType);
/// The inverse. Throws std::invalid_argument for types that no entry point
/// takes.
int32_t getAbiType(DType type);

/// The name a safetensors file uses: F32, I64, BOOL, ...
std::string_view getSafeTensorsName(DType type);
std::optional<DType> parseSafeTensorsDType(std::string_view name);

/// Whether the type is a floating-point type (f64, f32, f16 or bf16).
bool isFloat(DType type);

/// Whether an array of type `from` may feed a tensor of type `to`: anything
/// feeds a float, integers feed integers (checked for range by the caller,
/// see fitsIn), only booleans and bytes feed booleans.
bool canConvert(DType from, DType to);

/// Whether every one of `count` integers of type `from` fits in the integer
/// type `to`; on failure `at` is the index of the first that does not.
bool fitsIn(const void *data, DType from, DType to, int64_t count, int64_t &at);

/// Converts `count` elements, rounding to nearest even; neither side needs
/// alignment. canConvert must hold.
void convert(const void *from, DType fromType, void *to, DType toType,
             int64_t count);

/// Splits f32 into the nearest bf16, ties away from zero, and the lower 16 bits
/// (docs/spec/elementwise.md), and joins the two again. Neither side needs
/// alignment.
void splitHalves(const float *from, void *upper, void *lower, int64_t count);
void joinHalves(const void *upper, const void *lower, float *to, int64_t count);

/// Converts one element to f64; integers beyond 2^53 are rounded.
double readAsDouble(const void *element, DType type);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_DTYPE_H
