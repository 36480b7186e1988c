// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/readers/Reader.h"

#include <algorithm>

using namespace ingot::runtime;

bool ingot::runtime::isLabelColumn(std::string_view name) {
  return name == "labels" || name == "label" || name == "cls" ||
         name == "targets" || name == "target";
}

int64_t Value::getElements() const {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

std::string Value::describe() const {
  if (kind == Kind::Bytes)
    return "bytes";
  std::string text(getName(dtype));
  text += " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<size_t> Reader::findField(std::string_view name) const {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

std::string Reader::describeField(size_t field) const {
  return path + ": " + names[field];
}

std::string Reader::describe(size_t field, int64_t sample) const {
  return path + ": sample " + std::to_string(firstNumber + sample) + ": " +
         names[field];
}
