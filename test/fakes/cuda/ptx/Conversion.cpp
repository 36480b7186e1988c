// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// cvt of the PTX ISA. Registers may be wider than the types that are converted.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/ptx/Functions.h"
#include "test/fakes/cuda/ptx/Program.h"
#include "test/fakes/cuda/ptx/Warp.h"

#include <cmath>
#include <limits>
#include <type_traits>

using namespace fakes::ptx;

namespace {
/// To an integer, within the type.
enum Rounding : int64_t { Nearest, TowardsZero, Down, Up };

double roundTo(double value, int64_t rounding) {
  switch (rounding) {
  case TowardsZero:
    return std::trunc(value);
  case Down:
    return std::floor(value);
  case Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

/// A bf16, from numbers that a double represents.
struct Bfloat {
  Bfloat() = default;
  template <typename T> explicit Bfloat(T value) {
    auto exact = static_cast<double>(value);
    auto single = static_cast<float>(exact);
    // An odd last bit stands for all that are lost, so that rounding again
    // rounds as once.
    if (static_cast<double>(single) != exact && exact == exact) {
      if (std::fabs(static_cast<double>(single)) > std::fabs(exact))
        single = std::nextafterf(single, 0);
      single = std::bit_cast<float>(std::bit_cast<uint32_t>(single) | 1);
    }
    bits = RoundToBfloat()(single);
  }
  template <typename T> explicit operator T() const {
    return static_cast<T>(std::bit_cast<float>(uint32_t(bits) << 16));
  }
  uint16_t bits = 0;
};

template <typename T> constexpr bool isFloat = !std::is_integral_v<T>;

template <typename To, typename From>
To convertValue(From value, int64_t rounding, bool roundsToInteger) {
  if constexpr (isFloat<From> && !isFloat<To>) {
    double rounded = roundTo(static_cast<double>(value), rounding);
    if (rounded != rounded)
      return 0;
    constexpr auto least = static_cast<double>(std::numeric_limits<To>::min());
    // One above the largest value.
    const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
    return rounded <= least ? std::numeric_limits<To>::min()
           : rounded >= end ? std::numeric_limits<To>::max()
                            : static_cast<To>(rounded);
  } else if constexpr (isFloat<From> && std::is_same_v<To, From>) {
    return roundsToInteger
               ? static_cast<To>(roundTo(static_cast<double>(value), rounding))
               : value;
  } else {
    return static_cast<To>(value);
  }
}

/// `ToRegister` and `FromRegister` hold the types; integers are extended by
/// their own sign.
template <typename To, typename From, typename ToRegister,
          typename FromRegister>
void convert(Warp &warp, const Instruction &instruction) {
  const FromRegister *from = warp.read<FromRegister>(instruction.from[0]);
  int64_t rounding = instruction.number & 7;
  bool roundsToInteger = (instruction.number & 8) != 0;
  ToRegister values[lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    From value;
    std::memcpy(&value, &from[lane], sizeof(value));
    To result = convertValue<To, From>(value, rounding, roundsToInteger);
    if constexpr (sizeof(To) == sizeof(ToRegister))
      std::memcpy(&values[lane], &result, sizeof(result));
    else
      values[lane] = static_cast<ToRegister>(result);
  }
  warp.writeLanes(instruction.to[0], values);
}

template <typename To, typename From, typename ToRegister>
Execute withFromRegister(uint32_t bytes) {
  if constexpr (sizeof(From) <= 2)
    if (bytes == 2)
      return convert<To, From, ToRegister, uint16_t>;
  if constexpr (sizeof(From) <= 4)
    if (bytes == 4)
      return convert<To, From, ToRegister, uint32_t>;
  return bytes == 8 ? convert<To, From, ToRegister, uint64_t> : nullptr;
}

template <typename To, typename From>
Execute withRegisters(uint32_t toBytes, uint32_t fromBytes) {
  if constexpr (sizeof(To) <= 2)
    if (toBytes == 2)
      return withFromRegister<To, From, uint16_t>(fromBytes);
  if constexpr (sizeof(To) <= 4)
    if (toBytes == 4)
      return withFromRegister<To, From, uint32_t>(fromBytes);
  return toBytes == 8 ? withFromRegister<To, From, uint64_t>(fromBytes)
                      : nullptr;
}

/// Calls `body` with a value of the named type.
template <typename Body> Execute withType(std::string_view type, Body body) {
  if (type == "u8")
    return body(uint8_t());
  if (type == "s8")
    return body(int8_t());
  if (type == "u16")
    return body(uint16_t());
  if (type == "s16")
    return body(int16_t());
  if (type == "u32")
    return body(uint32_t());
  if (type == "s32")
    return body(int32_t());
  if (type == "u64")
    return body(uint64_t());
  if (type == "s64")
    return body(int64_t());
  if (type == "f16")
    return body(_Float16());
  if (type == "bf16")
    return body(Bfloat());
  if (type == "f32")
    return body(float());
  return type == "f64" ? body(double()) : nullptr;
}
} // namespace

Form fakes::ptx::selectConversion(const Opcode &opcode, uint32_t toBytes,
                                  uint32_t fromBytes) {
  size_t count = opcode.parts.size();
  Execute execute = nullptr;
  int64_t rounding = Nearest;
  bool roundsToInteger = false, isKnown = count >= 3;
  for (size_t i = 1; i + 2 < count; ++i) {
    std::string_view part = opcode.parts[i];
    roundsToInteger |= part.size() == 3 && part.ends_with("i");
    if (part == "rzi")
      rounding = TowardsZero;
    else if (part == "rmi")
      rounding = Down;
    else if (part == "rpi")
      rounding = Up;
    else
      isKnown &= part == "rn" || part == "rni";
  }
  // Numbers of 64 bits would be rounded twice.
  isKnown &= !opcode.has("bf16") || getBytes(opcode.type()) < 8;
  if (isKnown)
    execute = withType(opcode.parts[count - 2], [&](auto to) {
      return withType(opcode.parts[count - 1], [&](auto from) {
        return withRegisters<decltype(to), decltype(from)>(toBytes, fromBytes);
      });
    });
  if (!execute)
    throw ParseError("unknown conversion to " +
                     std::string(opcode.parts[count >= 2 ? count - 2 : 0]) +
                     " from " + std::string(opcode.type()));
  return {execute, toBytes, {fromBytes}, rounding | roundsToInteger << 3};
}
