// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/ptx/FunctionParser.h"

#include "test/fakes/cuda/ptx/Block.h"

#include <algorithm>
#include <cstdlib>

using namespace fakes::ptx;

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
  if (auto parameter = parameters.find(text); parameter != parameters.end())
    return addConstant(parameter->second, bytes);
  if (!dynamic.empty() && text == dynamic) {
    // It is behind what the function declares, which is nothing.
    function.hasDynamicShared = true;
    return addConstant(0, bytes);
  }
  return addConstant(parseNumber(text), bytes);
}

void FunctionParser::addParameter(std::string_view text) {
  // .param .u64 .ptr .align 64 NAME
  std::vector<std::string_view> words = split(text, ' ');
  if (words.size() < 3 || words[0] != ".param")
    refuse("no parameter:", text);
  if (words[1] == ".align") {
    // .param .align 64 .b8 NAME[128]
    Array array = parseArray(trim(text.substr(text.find(".align"))));
    uint32_t place =
        (function.parameterBytes + array.align - 1) / array.align * array.align;
    function.parameters.push_back({array.bytes, place});
    parameters.emplace(array.name, place);
    function.parameterBytes = place + array.bytes;
    return;
  }
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
  } else if (!dynamic.empty() && base == dynamic) {
    function.hasDynamicShared = true;
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

namespace {
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
} // namespace

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

/// An address in brackets.
Address FunctionParser::findAddress(std::string_view text) {
  Instruction place;
  parseAddress(place, text, /*isParameter=*/false);
  return {place.base, place.baseBytes, place.number};
}

/// An instruction that begins or awaits what runs concurrently with others.
bool FunctionParser::parseAsync(Instruction &instruction, const Opcode &opcode,
                                const std::vector<std::string_view> &operands) {
  std::optional<AsyncForm> form = selectAsync(opcode);
  if (!form)
    return false;
  instruction.execute = form->execute;
  instruction.flow = form->flow;
  function.isAsync |= form->extra != AsyncForm::Mask;
  size_t next = 0;
  auto take = [&]() -> std::string_view {
    if (next == operands.size())
      refuse("operands of", opcode.root());
    return operands[next++];
  };
  AsyncCall call;
  switch (form->extra) {
  case AsyncForm::None:
    break;
  case AsyncForm::Predicate:
    instruction.to[0] = define(take(), 0);
    break;
  case AsyncForm::Dropped:
    // The phase before the arrival, which nothing here reads.
    if (std::string_view result = take(); result != "_")
      (void)define(result, 8);
    break;
  case AsyncForm::Number:
    instruction.number = static_cast<int64_t>(parseNumber(take()));
    return next == operands.size();
  case AsyncForm::Mask:
    instruction.from[0] = use(take(), 4);
    return next == operands.size();
  case AsyncForm::Sums: {
    std::string_view sums = take();
    std::string_view lhs = take(), rhs = take(), scale = take();
    std::vector<int64_t> settings;
    while (next < operands.size())
      settings.push_back(static_cast<int64_t>(parseNumber(take())));
    call = describeProduct(opcode, settings);
    for (std::string_view sum : split(sums.substr(1, sums.size() - 2), ','))
      call.sums.push_back(define(sum, 4));
    if (call.sums.size() != call.columns / 2)
      refuse("registers of", sums);
    call.operands = {use(lhs, 8), use(rhs, 8), use(scale, 0)};
    break;
  }
  }
  for (size_t i = 0; i < form->addresses; ++i) {
    std::string_view place = take();
    // [map, {x, y, z}]
    size_t brace = place.find('{');
    if (brace == std::string_view::npos) {
      call.addresses.push_back(findAddress(place));
      continue;
    }
    size_t comma = place.find(',');
    std::string map = std::string(trim(place.substr(0, comma))) + "]";
    call.addresses.push_back(findAddress(map));
    std::string_view list = place.substr(brace + 1);
    for (std::string_view item : split(list.substr(0, list.find('}')), ','))
      call.operands.push_back(use(item, 4));
  }
  for (size_t i = 0; i < form->mostOperands && next < operands.size(); ++i)
    call.operands.push_back(use(take(), 4));
  if (next != operands.size())
    refuse("operands of", opcode.root());
  instruction.number = static_cast<int64_t>(function.calls.size());
  function.calls.push_back(std::move(call));
  return true;
}

namespace {
void copyPlaces(Warp &warp, const Instruction &instruction) {
  warp.writeLanes(instruction.to[0], warp.read<uint64_t>(instruction.from[0]));
}

/// Makes places among the parameters addresses.
void convertParameter(Warp &warp, const Instruction &instruction) {
  uint64_t values[lanes];
  const auto *places = warp.read<uint64_t>(instruction.from[0]);
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = places[lane] + warp.block.getParameters();
  warp.writeLanes(instruction.to[0], values);
}
} // namespace

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
  } else if (parseAsync(instruction, opcode, operands)) {
  } else if (root == "cvta" && operands.size() == 2 &&
             (opcode.has("shared") || opcode.has("shared::cluster"))) {
    // To a generic address and on to the memory of a cluster, which is one
    // block: places stay what they are.
    instruction.execute = copyPlaces;
    instruction.to[0] = define(operands[0], 8);
    instruction.from[0] = use(operands[1], 8);
  } else if (root == "cvta" && opcode.has("param") && operands.size() == 2) {
    instruction.execute = convertParameter;
    instruction.to[0] = define(operands[0], 8);
    instruction.from[0] = use(operands[1], 8);
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
  if (function.hasDynamicShared && function.sharedBytes != 0)
    refuse("shared memory of both kinds in", function.name);
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
