// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// PTX as a program for warps. parseModule reads the text that a driver would
// compile; each instruction becomes a function over the 32 lanes of a warp.
// Names as in the PTX ISA, chapters "Instruction Set" and "Directives".
//
// Only what the compiler's kernels use is known. An unknown instruction is an
// error of the module, never a guess.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_PROGRAM_H
#define INGOT_TEST_FAKES_CUDA_PTX_PROGRAM_H

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fakes::ptx {

constexpr int lanes = 32;
constexpr uint32_t allLanes = ~uint32_t(0);

/// Text that is no PTX, or has what is not known here.
struct ParseError : std::runtime_error {
  using runtime_error::runtime_error;
};

/// 32 values, one a lane: of a register of the warp, or of a constant of the
/// program. A predicate is one word, whose bits are the lanes.
struct Operand {
  uint32_t place = 0;
  bool isConstant = false;
};

class Warp;
struct Instruction;
using Execute = void (*)(Warp &, const Instruction &);

/// The effect of an instruction on the order of execution. Lanes of the mask
/// meet at Shuffle and Meeting, and all that live at Barrier and Converged.
enum class Flow : uint8_t {
  Next,
  Branch,
  Exit,
  Barrier,
  Shuffle,
  Meeting,
  Converged
};

/// The largest number of values in a vector access.
constexpr int maxValues = 4;

struct Instruction {
  Execute execute = nullptr;
  Flow flow = Flow::Next;
  bool isGuarded = false;
  /// Whether lanes run where the guard is false.
  bool isInverted = false;
  Operand guard;
  /// Results; of a store, none.
  Operand to[maxValues];
  /// Whether a value of a vector is dropped ("_").
  bool isDropped[maxValues] = {};
  Operand from[maxValues];
  /// The values of a vector access.
  uint8_t values = 1;
  /// For memory accesses, the size of `base`, which is added to `number`; 0 if
  /// there is none.
  uint8_t baseBytes = 0;
  Operand base;
  /// An offset in bytes, the target of a branch, a special register, a
  /// comparison or a kind of rounding.
  int64_t number = 0;
  int line = 0;
};

/// A register with an address, or none, and an offset in bytes.
struct Address {
  Operand base;
  uint8_t baseBytes = 0;
  int64_t offset = 0;
};

/// The operands of an instruction that begins or awaits what runs concurrently
/// with others.
struct AsyncCall {
  std::vector<Address> addresses;
  std::vector<Operand> operands;
  /// For products, registers of the result, its columns, and of the operands
  /// their type and layout.
  std::vector<Operand> sums;
  uint32_t columns = 0;
  bool isBfloat = false, transposesLhs = false, transposesRhs = false;
};

struct Parameter {
  uint32_t bytes, place;
};

struct Function {
  std::string name;
  std::vector<Instruction> code;
  std::vector<Parameter> parameters;
  /// The bytes of all parameters, of the registers of a warp, and of the shared
  /// memory of a block.
  uint32_t parameterBytes = 0, registerBytes = 0, sharedBytes = 0;
  std::deque<AsyncCall> calls;
  /// Whether the launch says how much shared memory there is, and whether
  /// something runs concurrently with the instructions.
  bool hasDynamicShared = false, isAsync = false;
  /// The bytes of a lane's local memory.
  uint32_t localBytes = 0;
  /// The most threads of a block.
  uint32_t maxThreads = 1024;
  std::vector<uint8_t> constants;
};

struct Module {
  std::map<std::string, Function, std::less<>> functions;
  /// The architecture in .target, as in 90 for sm_90.
  int architecture = 0;
  /// Tables in global memory.
  std::deque<std::vector<uint64_t>> tables;
  /// The lines of the text, for messages.
  std::vector<std::string> lines;
};

/// Throws ParseError.
Module parseModule(std::string_view text);

/// The parts of an opcode, as in {"ld", "global", "nc", "v4", "b32"}.
struct Opcode {
  std::vector<std::string_view> parts;

  std::string_view root() const { return parts.front(); }
  std::string_view type() const { return parts.back(); }
  bool has(std::string_view part) const {
    for (std::string_view other : parts)
      if (other == part)
        return true;
    return false;
  }
};

/// Returns the bytes of a type, as in "b32"; 0 for "pred". Throws ParseError.
uint32_t getBytes(std::string_view type);

/// How an instruction of the opcode reads and writes registers.
struct Form {
  Execute execute = nullptr;
  /// The bytes of results and operands; 0 for predicates.
  uint32_t toBytes = 0;
  std::vector<uint32_t> fromBytes = {};
  int64_t number = 0;
};

/// Throws ParseError.
Form selectArithmetic(const Opcode &opcode);
/// A conversion, whose registers may be wider than its types. Throws
/// ParseError.
Form selectConversion(const Opcode &opcode, uint32_t toBytes,
                      uint32_t fromBytes);
/// Moves a special register, `number` of the instruction, to a register.
void moveSpecial(Warp &warp, const Instruction &instruction);
/// An instruction whose operands are in an AsyncCall, `number` of the
/// instruction.
struct AsyncForm {
  Execute execute;
  Flow flow;
  /// A part that the parser reads besides addresses and operands: a predicate
  /// that is written, a result that is dropped, an immediate number, a mask, or
  /// the registers of a product.
  enum Extra { None, Predicate, Dropped, Number, Mask, Sums } extra;
  size_t addresses, mostOperands;
};
/// Nothing if it is none of these. Throws ParseError.
std::optional<AsyncForm> selectAsync(const Opcode &opcode);
/// The form of a product with those immediate operands. Throws ParseError.
AsyncCall describeProduct(const Opcode &opcode,
                          const std::vector<int64_t> &settings);
/// A load or store. Throws ParseError.
Form selectAccess(const Opcode &opcode, uint32_t registerBytes);

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_PROGRAM_H
