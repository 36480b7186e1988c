// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Element types and conversions.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/DType.h"

#include "runtime/abi/Abi.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

using namespace ingot::runtime;

namespace {

/// Stands for the ingot_dtype of a type that no entry point takes.
constexpr int32_t kNotInAbi = -1;

struct TypeInfo {
  DType type;
  int64_t size;
  std::string_view safeTensorsName;
  int32_t abiType = kNotInAbi;
};

constexpr std::array<TypeInfo, kNames<DType>.size()> kTypeInfos = {{
    {DType::F64, 8, "F64", INGOT_F64},
    {DType::F32, 4, "F32", INGOT_F32},
    {DType::F16, 2, "F16", INGOT_F16},
    {DType::BF16, 2, "BF16", INGOT_BF16},
    {DType::I64, 8, "I64"},
    {DType::I32, 4, "I32"},
    {DType::I8, 1, "I8"},
    {DType::U8, 1, "U8", INGOT_U8},
    {DType::Bool, 1, "BOOL"},
    {DType::I16, 2, "I16"},
    {DType::U16, 2, "U16"},
    {DType::U32, 4, "U32"},
    {DType::U64, 8, "U64"},
}};

const TypeInfo &getInfo(DType type) {
  return kTypeInfos[static_cast<size_t>(type)];
}

/// Rounds to f32 such that rounding the result again, to fewer bits, is as
/// exact as rounding once.
float roundToOdd(double value) {
  float narrowed = static_cast<float>(value);
  if (static_cast<double>(narrowed) == value || !std::isfinite(narrowed))
    return narrowed;
  uint32_t raw = std::bit_cast<uint32_t>(narrowed);
  if (!(raw & 1))
    raw += std::fabs(static_cast<double>(narrowed)) > std::fabs(value) ? -1 : 1;
  return std::bit_cast<float>(raw);
}

/// The bits of f16. Conversions are written out, because the compiler's would
/// call a library that trainers do not link.
struct Half {
  uint16_t bits;
  static Half from(double value) { return fromFloat(roundToOdd(value)); }
  static Half fromFloat(float value) {
    uint32_t raw = std::bit_cast<uint32_t>(value);
    uint16_t sign = (raw >> 16) & 0x8000;
    uint32_t magnitude = raw & 0x7fffffff;
    if (magnitude > 0x7f800000)
      return {static_cast<uint16_t>(sign | 0x7e00)};
    if (magnitude >= 0x477ff000)
      return {static_cast<uint16_t>(sign | 0x7c00)};
    if (magnitude < 0x38800000) {
      // For subnormal numbers an addition rounds at the right bit.
      float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return {static_cast<uint16_t>(
          sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000))};
    }
    uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return {static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13))};
  }
  operator double() const {
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
    if (exponent == 0x1f)
      return mantissa ? std::numeric_limits<double>::quiet_NaN()
                      : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0)
      return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(mantissa | 0x400, exponent - 25);
  }
};

struct BFloat {
  uint16_t bits;
  static BFloat from(double value) {
    uint32_t raw = std::bit_cast<uint32_t>(roundToOdd(value));
    if ((raw & 0x7fffffff) > 0x7f800000)
      return {static_cast<uint16_t>((raw >> 16) | 0x40)};
    return {static_cast<uint16_t>((raw + 0x7fff + ((raw >> 16) & 1)) >> 16)};
  }
  operator double() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

struct Boolean {
  uint8_t bits;
  operator int64_t() const { return bits != 0; }
};

/// Calls `visit` with a value of the C++ type of `type`.
template <typename Visitor> void dispatch(DType type, Visitor visit) {
  switch (type) {
  case DType::F64:
    return visit(double());
  case DType::F32:
    return visit(float());
  case DType::F16:
    return visit(Half());
  case DType::BF16:
    return visit(BFloat());
  case DType::I64:
    return visit(int64_t());
  case DType::I32:
    return visit(int32_t());
  case DType::I8:
    return visit(int8_t());
  case DType::U8:
    return visit(uint8_t());
  case DType::Bool:
    return visit(Boolean());
  case DType::I16:
    return visit(int16_t());
  case DType::U16:
    return visit(uint16_t());
  case DType::U32:
    return visit(uint32_t());
  case DType::U64:
    return visit(uint64_t());
  }
}

template <typename T> T load(const void *from, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(from) + index * sizeof(T),
              sizeof(T));
  return value;
}

template <typename To, typename From> To convertOne(From value) {
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat>)
    return To::from(static_cast<double>(value));
  else if constexpr (std::is_same_v<To, Boolean>)
    return Boolean{static_cast<uint8_t>(static_cast<double>(value) != 0)};
  else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat>)
    return static_cast<To>(static_cast<double>(value));
  else if constexpr (std::is_same_v<From, Boolean>)
    return static_cast<To>(static_cast<int64_t>(value));
  else
    return static_cast<To>(value);
}

template <typename T>
constexpr bool isInteger = std::is_integral_v<T> || std::is_same_v<T, Boolean>;

} // namespace

int64_t ingot::runtime::getSize(DType type) { return getInfo(type).size; }

DType ingot::runtime::getDType(int32_t abiType) {
  for (const TypeInfo &info : kTypeInfos)
    if (abiType != kNotInAbi && info.abiType == abiType)
      return info.type;
  throw std::invalid_argument("element type " + std::to_string(abiType) +
                              " is not one of the ABI");
}

int32_t ingot::runtime::getAbiType(DType type) {
  if (getInfo(type).abiType == kNotInAbi)
    throw std::invalid_argument("entry points do not take elements of type " +
                                std::string(getName(type)));
  return getInfo(type).abiType;
}

std::string_view ingot::runtime::getSafeTensorsName(DType type) {
  return getInfo(type).safeTensorsName;
}

std::optional<DType>
ingot::runtime::parseSafeTensorsDType(std::string_view name) {
  for (const TypeInfo &info : kTypeInfos)
    if (info.safeTensorsName == name)
      return info.type;
  return std::nullopt;
}

bool ingot::runtime::isFloat(DType type) {
  return type == DType::F64 || type == DType::F32 || type == DType::F16 ||
         type == DType::BF16;
}

bool ingot::runtime::canConvert(DType from, DType to) {
  if (from == to || isFloat(to))
    return true;
  if (to == DType::Bool)
    return from == DType::U8 || from == DType::I8;
  return !isFloat(from);
}

bool ingot::runtime::fitsIn(const void *data, DType from, DType to,
                            int64_t count, int64_t &at) {
  if (from == to || isFloat(to) || isFloat(from))
    return true;
  bool fits = true;
  dispatch(from, [&](auto source) {
    using From = decltype(source);
    dispatch(to, [&](auto target) {
      using To = decltype(target);
      if constexpr (isInteger<From> && std::is_integral_v<To> &&
                    !std::is_same_v<From, Boolean>) {
        for (int64_t i = 0; fits && i < count; ++i)
          if (!std::in_range<To>(load<From>(data, i))) {
            fits = false;
            at = i;
          }
      }
    });
  });
  return fits;
}

void ingot::runtime::convert(const void *from, DType fromType, void *to,
                             DType toType, int64_t count) {
  if (fromType == toType) {
    std::memcpy(to, from, count * getSize(toType));
    return;
  }
  dispatch(fromType, [&](auto source) {
    using From = decltype(source);
    dispatch(toType, [&](auto target) {
      using To = decltype(target);
      for (int64_t i = 0; i < count; ++i) {
        To value = convertOne<To>(load<From>(from, i));
        std::memcpy(static_cast<char *>(to) + i * sizeof(To), &value,
                    sizeof(To));
      }
    });
  });
}

double ingot::runtime::readAsDouble(const void *element, DType type) {
  double value = 0;
  convert(element, type, &value, DType::F64, 1);
  return value;
}

void ingot::runtime::splitHalves(const float *from, void *upper, void *lower,
                                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    // NaN becomes a quiet NaN, whose halves also join to NaN.
    uint32_t bits =
        from[i] == from[i] ? std::bit_cast<uint32_t>(from[i]) : 0x7fc00000;
    uint16_t halves[] = {static_cast<uint16_t>((bits + 0x8000) >> 16),
                         static_cast<uint16_t>(bits)};
    std::memcpy(static_cast<char *>(upper) + 2 * i, &halves[0], 2);
    std::memcpy(static_cast<char *>(lower) + 2 * i, &halves[1], 2);
  }
}

void ingot::runtime::joinHalves(const void *upper, const void *lower, float *to,
                                int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t high;
    int16_t low;
    std::memcpy(&high, static_cast<const char *>(upper) + 2 * i, 2);
    std::memcpy(&low, static_cast<const char *>(lower) + 2 * i, 2);
    // A lower half of 2^15 or more has raised the upper one.
    to[i] = std::bit_cast<float>((uint32_t(high) << 16) +
                                 static_cast<uint32_t>(int32_t(low)));
  }
}
