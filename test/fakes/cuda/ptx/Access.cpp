// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Loads and stores of the PTX ISA.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/ptx/Block.h"

#include <type_traits>

using namespace fakes::ptx;

namespace {
enum Space { Global, Constant, Shared, Local };

void findPlaces(const Warp &warp, const Instruction &instruction,
                uint64_t *places) {
  for (int lane = 0; lane < lanes; ++lane)
    places[lane] = static_cast<uint64_t>(instruction.number);
  if (instruction.baseBytes == sizeof(uint64_t)) {
    const auto *base = warp.read<uint64_t>(instruction.base);
    for (int lane = 0; lane < lanes; ++lane)
      places[lane] += base[lane];
  } else if (instruction.baseBytes != 0) {
    const auto *base = warp.read<uint32_t>(instruction.base);
    for (int lane = 0; lane < lanes; ++lane)
      places[lane] += base[lane];
  }
}

/// Checks the access and returns what places are offsets to.
uint8_t *check(const Warp &warp, const Instruction &instruction, Space space,
               bool isWritten, uint32_t bytes, uint64_t *places) {
  findPlaces(warp, instruction, places);
  if (space == Local) {
    warp.block.checkLocal(warp, places, bytes);
    return nullptr;
  }
  if (space == Shared)
    return warp.block.checkShared(warp, places, bytes, isWritten);
  warp.block.checkGlobal(warp, places, bytes,
                         isWritten           ? Races::Write
                         : space == Constant ? Races::ReadConstant
                                             : Races::Read);
  return nullptr;
}

template <typename T, typename Register, Space space>
void load(Warp &warp, const Instruction &instruction) {
  uint64_t places[lanes];
  uint32_t count = instruction.values;
  uint8_t *base = check(warp, instruction, space, /*isWritten=*/false,
                        count * sizeof(T), places);
  T values[maxValues][lanes] = {};
  for (int lane = 0; lane < lanes; ++lane)
    if (warp.active >> lane & 1) {
      T vector[maxValues];
      std::memcpy(vector, base + places[lane], count * sizeof(T));
      for (uint32_t i = 0; i < count; ++i)
        values[i][lane] = vector[i];
    }
  for (uint32_t i = 0; i < count; ++i) {
    if (instruction.isDropped[i])
      continue;
    Register wide[lanes];
    for (int lane = 0; lane < lanes; ++lane)
      wide[lane] = static_cast<Register>(values[i][lane]);
    warp.writeLanes(instruction.to[i], wide);
  }
}

template <typename T, typename Register, Space space>
void store(Warp &warp, const Instruction &instruction) {
  uint64_t places[lanes];
  uint32_t count = instruction.values;
  uint8_t *base = check(warp, instruction, space, /*isWritten=*/true,
                        count * sizeof(T), places);
  const Register *from[maxValues];
  for (uint32_t i = 0; i < count; ++i)
    from[i] = warp.read<Register>(instruction.from[i]);
  for (int lane = 0; lane < lanes; ++lane)
    if (warp.active >> lane & 1) {
      T vector[maxValues];
      for (uint32_t i = 0; i < count; ++i)
        vector[i] = static_cast<T>(from[i][lane]);
      std::memcpy(base + places[lane], vector, count * sizeof(T));
    }
}

/// Parameters are the same for all lanes.
template <typename T, typename Register>
void loadParameter(Warp &warp, const Instruction &instruction) {
  T value;
  std::memcpy(&value,
              warp.block.getLaunch().parameters.data() + instruction.number,
              sizeof(value));
  Register values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = static_cast<Register>(value);
  warp.writeLanes(instruction.to[0], values);
}

template <typename T, typename Register> Execute select(const Opcode &opcode) {
  if (opcode.has("param"))
    return opcode.root() == "ld" ? loadParameter<T, Register> : nullptr;
  bool isLoad = opcode.root() == "ld";
  if (opcode.has("shared"))
    return isLoad ? load<T, Register, Shared> : store<T, Register, Shared>;
  if (opcode.has("local"))
    return isLoad ? load<T, Register, Local> : store<T, Register, Local>;
  if (!opcode.has("global"))
    return nullptr;
  if (opcode.has("nc"))
    return isLoad ? load<T, Register, Constant> : nullptr;
  return isLoad ? load<T, Register, Global> : store<T, Register, Global>;
}

template <typename T>
Execute withRegister(const Opcode &opcode, uint32_t bytes) {
  using Signed = std::is_signed<T>;
  if constexpr (sizeof(T) <= 2)
    if (bytes == 2)
      return select<T, std::conditional_t<Signed::value, int16_t, uint16_t>>(
          opcode);
  if constexpr (sizeof(T) <= 4)
    if (bytes == 4)
      return select<T, std::conditional_t<Signed::value, int32_t, uint32_t>>(
          opcode);
  return bytes == 8
             ? select<T, std::conditional_t<Signed::value, int64_t, uint64_t>>(
                   opcode)
             : nullptr;
}
} // namespace

Form fakes::ptx::selectAccess(const Opcode &opcode, uint32_t registerBytes) {
  std::string_view type = opcode.type();
  Execute execute = nullptr;
  switch (getBytes(type)) {
  case 1:
    execute = type == "s8" ? withRegister<int8_t>(opcode, registerBytes)
                           : withRegister<uint8_t>(opcode, registerBytes);
    break;
  case 2:
    execute = type == "s16" ? withRegister<int16_t>(opcode, registerBytes)
                            : withRegister<uint16_t>(opcode, registerBytes);
    break;
  case 4:
    execute = type == "s32" ? withRegister<int32_t>(opcode, registerBytes)
                            : withRegister<uint32_t>(opcode, registerBytes);
    break;
  default:
    execute = withRegister<uint64_t>(opcode, registerBytes);
  }
  for (std::string_view part : opcode.parts)
    if (part == "volatile" || part == "const")
      execute = nullptr;
  if (!execute)
    throw ParseError("unknown access of type " + std::string(type));
  return {execute, registerBytes};
}
