// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/ptx/FunctionParser.h"

#include <cstdlib>
#include <optional>

using namespace fakes::ptx;

std::string_view fakes::ptx::trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::vector<std::string_view> fakes::ptx::split(std::string_view text,
                                                char separator) {
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

bool fakes::ptx::consume(std::string_view &text, std::string_view word) {
  if (!text.starts_with(word))
    return false;
  text = trim(text.substr(word.size()));
  return true;
}

[[noreturn]] void fakes::ptx::refuse(std::string_view what,
                                     std::string_view text) {
  throw ParseError(std::string(what) + " '" + std::string(text) + "'");
}

uint64_t fakes::ptx::parseNumber(std::string_view text) {
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

Array fakes::ptx::parseArray(std::string_view text) {
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

namespace {
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
    if (consume(text, ".extern .shared")) {
      // .align 1024 .b8 NAME[];
      size_t open = text.find('['), space = text.rfind(' ', open);
      if (open == std::string_view::npos || space == std::string_view::npos)
        refuse("unknown directive", text);
      dynamic = std::string(text.substr(space + 1, open - space - 1));
    } else if (consume(text, ".global")) {
      addTable(text);
    } else if (consume(text, ".target")) {
      consume(text, "sm_");
      module.architecture = std::atoi(std::string(text).c_str());
    } else if (consume(text, ".visible .entry")) {
      std::string name(trim(text.substr(0, text.find('('))));
      function = &module.functions[name];
      function->name = name;
      parser.emplace(*function, tables, dynamic);
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
  std::string dynamic;
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
