// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Element types of tensors in files and in the trainer's memory, and the
// conversions between them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_DTYPE_H
#define INGOT_RUNTIME_CORE_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::runtime {

/// The element types of a compiled step are the first nine; files may hold any.
enum class DType {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I8,
  U8,
  Bool,
  I16,
  U16,
  U32,
  U64
};

/// Bytes of one element.
int64_t getSize(DType type);

/// The element type that entry points know as `abiType`, an ingot_dtype of
/// Abi.h. Throws std::invalid_argument for any other number.
DType getDType(int32_t abiType);
/// The inverse. Throws std::invalid_argument for types that no entry point
/// takes.
int32_t getAbiType(DType type);

/// The name the manifest uses: f32, i64, bool, ...
std::string_view getName(DType type);
std::optional<DType> parseDType(std::string_view name);

/// The name a safetensors file uses: F32, I64, BOOL, ...
std::string_view getSafeTensorsName(DType type);
std::optional<DType> parseSafeTensorsDType(std::string_view name);

/// Floating point (f64, f32, f16, bf16).
bool isFloat(DType type);

/// Whether an array of type `from` may feed a tensor of type `to`: anything
/// feeds a float, integers feed integers (checked for range by the caller,
/// see fitsIn), only booleans and bytes feed booleans.
bool canConvert(DType from, DType to);

/// Whether every one of `count` integers of type `from` fits in the integer
/// type `to`; on failure `at` is the index of the first that does not.
bool fitsIn(const void *data, DType from, DType to, int64_t count, int64_t &at);

/// Converts `count` elements; neither side needs alignment. Rounds to nearest
/// even. The caller has asked canConvert.
void convert(const void *from, DType fromType, void *to, DType toType,
             int64_t count);

/// Numbers of f32 as their nearest of bf16, ties away from zero, and the lower
/// 16 bits (docs/spec/elementwise.md); no side needs alignment.
void splitHalves(const float *from, void *upper, void *lower, int64_t count);
void joinHalves(const void *upper, const void *lower, float *to, int64_t count);

/// One element as a double (integers beyond 2^53 round).
double readAsDouble(const void *element, DType type);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_DTYPE_H
