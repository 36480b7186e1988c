// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads functions of PTX, a statement at a time (header private to the parser).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_FUNCTIONPARSER_H
#define INGOT_TEST_FAKES_CUDA_PTX_FUNCTIONPARSER_H

#include "test/fakes/cuda/ptx/Program.h"

namespace fakes::ptx {

std::string_view trim(std::string_view text);
/// Splits at a separator outside of braces and brackets.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Whether `text` begins with the word, which is taken off.
bool consume(std::string_view &text, std::string_view word);
/// Throws ParseError.
[[noreturn]] void refuse(std::string_view what, std::string_view text);
uint64_t parseNumber(std::string_view text);

struct Array {
  std::string name;
  uint32_t bytes, align;
};

/// Reads `.align 4 .b8 NAME[8192]`.
Array parseArray(std::string_view text);

class FunctionParser {
public:
  /// `dynamic` is the name of the shared memory of which launches say the size;
  /// "" if there is none.
  FunctionParser(Function &function,
                 const std::map<std::string, uint64_t, std::less<>> &tables,
                 const std::string &dynamic)
      : function(function), symbols(tables), dynamic(dynamic) {
    // No register is at place 0, which operands that are none have.
    function.registerBytes = 64;
  }

  void addParameter(std::string_view text);
  /// A directive, a label or an instruction, without its semicolon.
  void addStatement(std::string_view text, int line);
  void finish();

private:
  struct Register {
    uint32_t bytes, place;
  };
  void addDirective(std::string_view text);
  void addInstruction(std::string_view text, int line);
  const Register &find(std::string_view name) const;
  Operand define(std::string_view text, uint32_t bytes) const;
  Operand use(std::string_view text, uint32_t bytes);
  Operand addConstant(uint64_t value, uint32_t bytes);
  void parseAddress(Instruction &instruction, std::string_view text,
                    bool isParameter);
  void parseAccess(Instruction &instruction, const Opcode &opcode,
                   const std::vector<std::string_view> &operands);
  bool parseMove(Instruction &instruction, const Opcode &opcode,
                 const std::vector<std::string_view> &operands);

  bool parseAsync(Instruction &instruction, const Opcode &opcode,
                  const std::vector<std::string_view> &operands);
  Address findAddress(std::string_view text);

  Function &function;
  std::map<std::string, Register, std::less<>> registers;
  /// Places in shared and local memory, and addresses of tables.
  std::map<std::string, uint64_t, std::less<>> symbols;
  std::map<std::string, uint32_t, std::less<>> parameters, labels;
  std::vector<std::pair<size_t, std::string>> branches;
  std::map<std::pair<uint64_t, uint32_t>, Operand> constants;
  const std::string &dynamic;
};

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_FUNCTIONPARSER_H
