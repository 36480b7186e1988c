// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/ptx/Program.h"
#include "test/fakes/cuda/ptx/Warp.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace fakes::ptx;

namespace {
std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// Splits at a separator outside of braces and brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      if (std::string_view part = trim(text.substr(begin, i - begin));
          !part.empty())
        parts.push_back(part);
      begin = i + 1;
    } else if (text[i] == '{' || text[i] == '[') {
      ++depth;
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

/// Whether `text` begins with the word, which is taken off.
bool consume(std::string_view &text, std::string_view word) {
  if (!text.starts_with(word))
    return false;
  text = trim(text.substr(word.size()));
  return true;
}

[[noreturn]] void refuse(std::string_view what, std::string_view text) {
  throw ParseError(std::string(what) + " '" + std::string(text) + "'");
}

uint64_t parseNumber(std::string_view text) {
  std::string digits(text);
  // Floats are given by their bits.
  int base = 0;
  if (digits.size() > 2 && digits[0] == '0' &&
      (digits[1] == 'f' || digits[1] == 'd')) {
    digits = digits.substr(2);
    base = 16;
  }
  if (digits.ends_with("U"))
    digits.pop_back();
  char *end = nullptr;
  bool isNegative = digits.starts_with("-");
  uint64_t number =
      isNegative
          ? static_cast<uint64_t>(std::strtoll(digits.c_str(), &end, base))
          : std::strtoull(digits.c_str(), &end, base);
  if (end == digits.c_str() || *end != 0)
    refuse("no number:", text);
  return number;
}

struct Array {
  std::string name;
  uint32_t bytes, align;
};

/// Reads `.align 4 .b8 NAME[8192]`.
Array parseArray(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::string_view word : split(text, ' '))
    for (std::string_view part : split(word, '\t'))
      words.push_back(part);
  size_t open = text.rfind('[');
  if (words.size() != 4 || words[0] != ".align" || words[2] != ".b8" ||
      open == std::string_view::npos || !text.ends_with("]"))
    refuse("unknown array:", text);
  return {std::string(words[3].substr(0, words[3].find('['))),
          static_cast<uint32_t>(
              parseNumber(text.substr(open + 1, text.size() - open - 2))),
          static_cast<uint32_t>(parseNumber(words[1]))};
}

class FunctionParser {
public:
  FunctionParser(Function &function,
                 const std::map<std::string, uint64_t, std::less<>> &tables)
      : function(function), symbols(tables) {}

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

  Function &function;
  std::map<std::string, Register, std::less<>> registers;
  /// Places in shared and local memory, and addresses of tables.
  std::map<std::string, uint64_t, std::less<>> symbols;
  std::map<std::string, uint32_t, std::less<>> parameters, labels;
  std::vector<std::pair<size_t, std::string>> branches;
  std::map<std::pair<uint64_t, uint32_t>, Operand> constants;
};

const FunctionParser::Register &
FunctionParser::find(std::string_view name) const {
  auto found = registers.find(name);
  if (found == registers.end())
    refuse("no register", name);
  return found->second;
}

Operand FunctionParser::define(std::string_view text, uint32_t bytes) const {
  const Register &found = find(text);
  if (found.bytes != bytes)
    refuse("a register of another size:", text);
  return {found.place, false};
}

Operand FunctionParser::addConstant(uint64_t value, uint32_t bytes) {
  auto [place, isNew] = constants.insert({{value, bytes}, {}});
  if (isNew) {
    std::vector<uint8_t> &data = function.constants;
    place->second = {static_cast<uint32_t>(data.size()), true};
    if (bytes == 0) {
      // A predicate.
      uint32_t word = value != 0 ? allLanes : 0;
      data.resize(data.size() + lanes);
      std::memcpy(data.data() + place->second.place, &word, sizeof(word));
    } else {
      data.resize(data.size() + size_t(bytes) * lanes);
      for (int lane = 0; lane < lanes; ++lane)
        std::memcpy(data.data() + place->second.place + size_t(bytes) * lane,
                    &value, bytes);
    }
  }
  return place->second;
}

Operand FunctionParser::use(std::string_view text, uint32_t bytes) {
  if (text.starts_with("%") || registers.count(text))
    return define(text, bytes);
  if (auto symbol = symbols.find(text); symbol != symbols.end())
    return addConstant(symbol->second, bytes);
  return addConstant(parseNumber(text), bytes);
}

void FunctionParser::addParameter(std::string_view text) {
  // .param .u64 .ptr .align 64 NAME
  std::vector<std::string_view> words = split(text, ' ');
  if (words.size() < 3 || words[0] != ".param")
    refuse("no parameter:", text);
  uint32_t bytes = getBytes(words[1].substr(1));
  uint32_t place = (function.parameterBytes + bytes - 1) / bytes * bytes;
  function.parameters.push_back({bytes, place});
  parameters.emplace(words.back(), place);
  function.parameterBytes = place + bytes;
}

void FunctionParser::addDirective(std::string_view text) {
  if (text.starts_with(".pragma"))
    return;
  if (consume(text, ".reg")) {
    // .b32 %r<77>
    size_t space = text.find_first_of(" \t");
    uint32_t bytes = getBytes(text.substr(1, space - 1));
    for (std::string_view item : split(text.substr(space), ',')) {
      size_t open = item.find('<');
      std::string prefix(item.substr(0, open));
      uint64_t count = 1;
      if (open != std::string_view::npos)
        count = parseNumber(item.substr(open + 1, item.size() - open - 2));
      for (uint64_t i = 0; i < count; ++i) {
        std::string name = open == std::string_view::npos
                               ? prefix
                               : prefix + std::to_string(i);
        registers[name] = {bytes, function.registerBytes};
        function.registerBytes += bytes == 0 ? sizeof(uint32_t) : bytes * lanes;
      }
    }
    // Vectors of lanes stay aligned.
    function.registerBytes = (function.registerBytes + 63) / 64 * 64;
    return;
  }
  bool isShared = consume(text, ".shared");
  if (isShared || consume(text, ".local")) {
    Array array = parseArray(text);
    uint32_t &bytes = isShared ? function.sharedBytes : function.localBytes;
    uint32_t place = (bytes + array.align - 1) / array.align * array.align;
    symbols[array.name] = place;
    bytes = place + array.bytes;
    return;
  }
  refuse("unknown directive", text);
}

void FunctionParser::parseAddress(Instruction &instruction,
                                  std::string_view text, bool isParameter) {
  if (!text.starts_with("[") || !text.ends_with("]"))
    refuse("no address:", text);
  text = trim(text.substr(1, text.size() - 2));
  size_t plus = text.find('+');
  if (plus != std::string_view::npos)
    instruction.number =
        static_cast<int64_t>(parseNumber(trim(text.substr(plus + 1))));
  std::string_view base = trim(text.substr(0, plus));
  if (isParameter) {
    auto found = parameters.find(base);
    if (found == parameters.end())
      refuse("no parameter", base);
    instruction.number += found->second;
  } else if (base.starts_with("%")) {
    const Register &found = find(base);
    instruction.base = {found.place, false};
    instruction.baseBytes = static_cast<uint8_t>(found.bytes);
  } else if (auto found = symbols.find(base); found != symbols.end()) {
    instruction.number += static_cast<int64_t>(found->second);
  } else {
    refuse("no address:", text);
  }
}

void FunctionParser::parseAccess(
    Instruction &instruction, const Opcode &opcode,
    const std::vector<std::string_view> &operands) {
  bool isLoad = opcode.root() == "ld";
  if (operands.size() != 2)
    refuse("operands of", opcode.root());
  std::string_view place = operands[isLoad ? 1 : 0];
  std::string_view data = operands[isLoad ? 0 : 1];
  parseAddress(instruction, place, opcode.has("param"));
  // Shared memory may be addressed by 32 bits.
  uint32_t baseBytes = instruction.baseBytes;
  if (baseBytes != 0 && baseBytes != 8 &&
      !(baseBytes == 4 && opcode.has("shared")))
    refuse("an address of another size:", place);
  std::vector<std::string_view> items = {data};
  if (data.starts_with("{"))
    items = split(data.substr(1, data.size() - 2), ',');
  if (items.empty() || items.size() > maxValues)
    refuse("unknown vector", data);
  instruction.values = static_cast<uint8_t>(items.size());
  uint32_t bytes = std::max(2U, getBytes(opcode.type()));
  for (std::string_view item : items)
    if (item.starts_with("%"))
      bytes = find(item).bytes;
  Form form = selectAccess(opcode, bytes);
  instruction.execute = form.execute;
  for (size_t i = 0; i < items.size(); ++i) {
    if (isLoad && items[i] == "_")
      instruction.isDropped[i] = true;
    else if (isLoad)
      instruction.to[i] = define(items[i], bytes);
    else
      instruction.from[i] = use(items[i], bytes);
  }
}

template <typename Part, typename Whole>
void pack(Warp &warp, const Instruction &instruction) {
  constexpr size_t count = sizeof(Whole) / sizeof(Part);
  Whole values[lanes] = {};
  for (size_t i = 0; i < count; ++i) {
    const Part *from = warp.read<Part>(instruction.from[i]);
    for (int lane = 0; lane < lanes; ++lane)
      values[lane] |= Whole(from[lane]) << (8 * sizeof(Part) * i);
  }
  warp.writeLanes(instruction.to[0], values);
}

template <typename Part, typename Whole>
void unpack(Warp &warp, const Instruction &instruction) {
  constexpr size_t count = sizeof(Whole) / sizeof(Part);
  Whole whole[lanes];
  std::memcpy(whole, warp.read<Whole>(instruction.from[0]), sizeof(whole));
  for (size_t i = 0; i < count; ++i) {
    Part values[lanes];
    for (int lane = 0; lane < lanes; ++lane)
      values[lane] = static_cast<Part>(whole[lane] >> (8 * sizeof(Part) * i));
    if (!instruction.isDropped[i])
      warp.writeLanes(instruction.to[i], values);
  }
}

/// A move from a special register, or between a vector and its parts.
bool FunctionParser::parseMove(Instruction &instruction, const Opcode &opcode,
                               const std::vector<std::string_view> &operands) {
  static const std::map<std::string_view, Special> specials = {
      {"%tid.x", TidX},
      {"%ntid.x", NtidX},
      {"%ctaid.x", CtaidX},
      {"%nctaid.x", NctaidX},
      {"%laneid", LaneId}};
  if (opcode.root() != "mov" || operands.size() != 2)
    return false;
  if (auto special = specials.find(operands[1]); special != specials.end()) {
    instruction.execute = moveSpecial;
    instruction.number = special->second;
    instruction.to[0] = define(operands[0], 4);
    return true;
  }
  uint32_t bytes = getBytes(opcode.type());
  for (bool isPack : {false, true}) {
    std::string_view vector = operands[isPack];
    if (!vector.starts_with("{"))
      continue;
    std::vector<std::string_view> items =
        split(vector.substr(1, vector.size() - 2), ',');
    auto part = static_cast<uint32_t>(bytes / items.size());
    if (items.size() > maxValues || part < 2)
      refuse("unknown vector", vector);
    if (bytes == 4)
      instruction.execute =
          isPack ? pack<uint16_t, uint32_t> : unpack<uint16_t, uint32_t>;
    else if (part == 2)
      instruction.execute =
          isPack ? pack<uint16_t, uint64_t> : unpack<uint16_t, uint64_t>;
    else
      instruction.execute =
          isPack ? pack<uint32_t, uint64_t> : unpack<uint32_t, uint64_t>;
    for (size_t i = 0; i < items.size(); ++i) {
      instruction.isDropped[i] = items[i] == "_";
      if (isPack)
        instruction.from[i] = use(items[i], part);
      else if (!instruction.isDropped[i])
        instruction.to[i] = define(items[i], part);
    }
    if (isPack)
      instruction.to[0] = define(operands[0], bytes);
    else
      instruction.from[0] = use(operands[1], bytes);
    return true;
  }
  return false;
}

void FunctionParser::addInstruction(std::string_view text, int line) {
  Instruction instruction;
  instruction.line = line;
  if (text.starts_with("@")) {
    size_t space = text.find_first_of(" \t");
    std::string_view guard = text.substr(1, space - 1);
    instruction.isGuarded = true;
    instruction.isInverted = guard.starts_with("!");
    instruction.guard = define(guard.substr(instruction.isInverted), 0);
    text = trim(text.substr(space));
  }
  size_t space = text.find_first_of(" \t");
  Opcode opcode;
  opcode.parts = split(text.substr(0, space), '.');
  std::vector<std::string_view> operands;
  if (space != std::string_view::npos)
    operands = split(text.substr(space), ',');
  std::string_view root = opcode.root();
  if (root == "ret" || root == "exit") {
    instruction.flow = Flow::Exit;
  } else if (root == "bra" && operands.size() == 1) {
    instruction.flow = Flow::Branch;
    branches.emplace_back(function.code.size(), operands[0]);
  } else if (root == "bar" && opcode.has("sync") && operands.size() == 1 &&
             operands[0] == "0") {
    instruction.flow = Flow::Barrier;
  } else if (root == "ld" || root == "st") {
    parseAccess(instruction, opcode, operands);
  } else if (root == "cvt" && operands.size() == 2 && !opcode.has("f16x2") &&
             !opcode.has("bf16x2") && !opcode.has("e4m3x2") &&
             !opcode.has("e5m2x2")) {
    uint32_t toBytes = find(operands[0]).bytes;
    uint32_t fromBytes = operands[1].starts_with("%")
                             ? find(operands[1]).bytes
                             : std::max(2U, getBytes(opcode.type()));
    Form form = selectConversion(opcode, toBytes, fromBytes);
    instruction.execute = form.execute;
    instruction.number = form.number;
    instruction.to[0] = define(operands[0], toBytes);
    instruction.from[0] = use(operands[1], fromBytes);
  } else if (!parseMove(instruction, opcode, operands)) {
    Form form = selectArithmetic(opcode);
    if (operands.size() != form.fromBytes.size() + 1)
      refuse("operands of", text);
    instruction.execute = form.execute;
    instruction.number = form.number;
    instruction.to[0] = define(operands[0], form.toBytes);
    for (size_t i = 0; i < form.fromBytes.size(); ++i)
      instruction.from[i] = use(operands[i + 1], form.fromBytes[i]);
    if (root == "shfl")
      instruction.flow = Flow::Shuffle;
  }
  function.code.push_back(instruction);
}

void FunctionParser::addStatement(std::string_view text, int line) {
  try {
    while (true) {
      size_t colon = text.find(':');
      if (!text.starts_with("$") || colon == std::string_view::npos)
        break;
      labels.emplace(text.substr(0, colon), function.code.size());
      text = trim(text.substr(colon + 1));
    }
    if (text.starts_with("."))
      addDirective(text);
    else if (!text.empty())
      addInstruction(text, line);
  } catch (const ParseError &error) {
    throw ParseError("line " + std::to_string(line) + ": " + error.what());
  }
}

void FunctionParser::finish() {
  // Code that ends returns.
  Instruction end;
  end.flow = Flow::Exit;
  function.code.push_back(end);
  for (auto &[index, label] : branches) {
    auto found = labels.find(label);
    if (found == labels.end())
      refuse("no label", label);
    function.code[index].number = found->second;
  }
}

/// Reads a module line by line.
class ModuleParser {
public:
  explicit ModuleParser(Module &module) : module(module) {}
  void add(std::string_view text, int line) {
    size_t comment = text.find("//");
    text = trim(text.substr(0, comment));
    if (text.empty())
      return;
    if (isInBody)
      addToBody(text, line);
    else if (function)
      addToHead(text);
    else
      addToModule(text);
  }

private:
  void addToBody(std::string_view text, int line) {
    // Scopes of registers, whose names are never those of others.
    depth += text == "{";
    if (text == "{" || (text == "}" && depth-- > 0))
      return;
    if (text == "}") {
      depth = 0;
      parser->finish();
      parser.reset();
      function = nullptr;
      isInBody = false;
      return;
    }
    // A scope with registers of its own.
    if (text.starts_with("{") && text.ends_with("}")) {
      for (std::string_view inner : split(text.substr(1, text.size() - 2), ';'))
        parser->addStatement(inner, line);
      return;
    }
    bool isWhole = text.ends_with(";") || text.ends_with(":");
    if (!isWhole)
      refuse("a statement of several lines:", text);
    if (text.ends_with(";"))
      text.remove_suffix(1);
    parser->addStatement(trim(text), line);
  }
  void addToHead(std::string_view text) {
    if (text.ends_with(","))
      text.remove_suffix(1);
    if (text.starts_with(".param"))
      parser->addParameter(text);
    else if (consume(text, ".maxntid"))
      function->maxThreads =
          static_cast<uint32_t>(parseNumber(split(text, ',').front()));
    else if (text == "{")
      isInBody = true;
    else if (text != ")" && !text.starts_with(".minnctapersm"))
      refuse("unknown directive", text);
  }
  void addTable(std::string_view text) {
    size_t equals = text.find('=');
    if (equals == std::string_view::npos || !text.ends_with("};"))
      refuse("unknown table", text);
    Array array = parseArray(trim(text.substr(0, equals)));
    std::string_view values = trim(text.substr(equals + 1));
    std::vector<uint64_t> &table =
        module.tables.emplace_back((array.bytes + 7) / 8);
    auto *bytes = reinterpret_cast<uint8_t *>(table.data());
    for (std::string_view value :
         split(values.substr(1, values.size() - 3), ','))
      *bytes++ = static_cast<uint8_t>(parseNumber(value));
    tables[array.name] = reinterpret_cast<uint64_t>(table.data());
  }
  void addToModule(std::string_view text) {
    if (consume(text, ".global")) {
      addTable(text);
    } else if (consume(text, ".target")) {
      consume(text, "sm_");
      module.architecture = std::atoi(std::string(text).c_str());
    } else if (consume(text, ".visible .entry")) {
      std::string name(trim(text.substr(0, text.find('('))));
      function = &module.functions[name];
      function->name = name;
      parser.emplace(*function, tables);
    } else if (!text.starts_with(".version") &&
               !text.starts_with(".address_size")) {
      refuse("unknown directive", text);
    }
  }

  Module &module;
  Function *function = nullptr;
  std::optional<FunctionParser> parser;
  bool isInBody = false;
  int depth = 0;
  std::map<std::string, uint64_t, std::less<>> tables;
};
} // namespace

Module fakes::ptx::parseModule(std::string_view text) {
  Module module;
  ModuleParser parser(module);
  int line = 0;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view whole = text.substr(0, end);
    module.lines.emplace_back(trim(whole));
    try {
      parser.add(whole, ++line);
    } catch (const ParseError &error) {
      std::string what = error.what();
      throw what.starts_with("line ")
          ? error
          : ParseError("line " + std::to_string(line) + ": " + what);
    }
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return module;
}
