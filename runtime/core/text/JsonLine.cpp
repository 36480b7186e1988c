// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/text/JsonLine.h"

#include "runtime/core/libraries/JsonLibrary.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

using namespace ingot::runtime;
using nlohmann::ordered_json;

static void append(std::string &text, const ordered_json &json) {
  // Integers need no point.
  if (json.is_number_float() && std::isfinite(json.get<double>())) {
    text += fmt::format("{}", json.get<double>());
    return;
  }
  if (!json.is_structured()) {
    text += json.dump(-1, ' ', /*ensure_ascii=*/false,
                      ordered_json::error_handler_t::replace);
    return;
  }
  text += json.is_object() ? '{' : '[';
  const char *separator = "";
  for (const auto &[key, value] : json.items()) {
    text += separator;
    separator = ", ";
    if (json.is_object()) {
      append(text, key);
      text += ": ";
    }
    append(text, value);
  }
  text += json.is_object() ? '}' : ']';
}

std::string ingot::runtime::formatJsonLine(const ordered_json &json) {
  std::string text;
  append(text, json);
  return text;
}

double ingot::runtime::shortenFloat(float value) {
  double number = value;
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value))
    std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double ingot::runtime::roundTo(double value, int digits) {
  double factor = std::pow(10, digits), scaled = std::round(value * factor);
  return std::isfinite(scaled) ? scaled / factor : value;
}
