// SPDX-License-Identifier: Apache-2.0

#include "passes/options/Setting.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

#include <charconv>

using namespace ingot;
using llvm::StringRef;

template <typename T>
static llvm::Error parseWhole(StringRef option, StringRef text, T &value) {
  if (llvm::to_integer(text, value, 10))
    return llvm::Error::success();
  return makeOptionError(option, "'" + text + "' is not an integer",
                         "give a number without unit");
}

llvm::Error ingot::parseValue(StringRef /*option*/, StringRef text,
                              std::string &value) {
  value = text.str();
  return llvm::Error::success();
}

llvm::Error ingot::parseValue(StringRef option, StringRef text, bool &value) {
  value = text.empty() || text == "true";
  if (value || text == "false")
    return llvm::Error::success();
  return makeOptionError(option, "'" + text + "' is not true or false",
                         "leave the value out");
}

llvm::Error ingot::parseValue(StringRef option, StringRef text,
                              unsigned &value) {
  return parseWhole(option, text, value);
}

llvm::Error ingot::parseValue(StringRef option, StringRef text,
                              int64_t &value) {
  return parseWhole(option, text, value);
}

llvm::Error ingot::parseValue(StringRef option, StringRef text, double &value) {
  if (llvm::to_float(text, value))
    return llvm::Error::success();
  return makeOptionError(option, "'" + text + "' is not a number",
                         "give a number without unit");
}

std::string ingot::printValue(const std::string &value) { return value; }

std::string ingot::printValue(bool /*value*/) { return ""; }

std::string ingot::printValue(unsigned value) { return std::to_string(value); }

std::string ingot::printValue(int64_t value) { return std::to_string(value); }

std::string ingot::printValue(double value) {
  char text[32];
  auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
  return std::string(text, end);
}

llvm::Error ingot::makeRangeError(StringRef option, const std::string &value,
                                  const std::string &low,
                                  const std::string &high) {
  return makeOptionError(option, value + " is out of range",
                         "give a number from " + low + " to " + high);
}
