// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of a manifest, checked as they are read.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MANIFESTFIELD_H
#define INGOT_RUNTIME_CORE_MANIFESTFIELD_H

#include "runtime/core/DType.h"
#include "runtime/core/Error.h"

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// More than any block of memory has.
inline constexpr int64_t kMaxBytes = int64_t(1) << 50;

inline Error malformed(const std::string &field, const std::string &what) {
  return failure("module manifest: " + field, what,
                 "compile the model again with the ingotc of this release");
}

/// A JSON value with its path, which messages name.
class Field {
public:
  Field(const nlohmann::json &value, std::string path)
      : value(value), path(std::move(path)) {}

  bool has(const char *key) const {
    return value.is_object() && value.contains(key);
  }

  Field operator[](const char *key) const {
    std::string inner = path.empty() ? key : path + "." + key;
    if (!has(key))
      throw malformed(inner, "missing");
    return {value[key], inner};
  }

  std::vector<Field> getItems() const {
    if (!value.is_array())
      throw malformed(path, "not an array");
    std::vector<Field> items;
    for (size_t i = 0; i < value.size(); ++i)
      items.emplace_back(value[i], path + "[" + std::to_string(i) + "]");
    return items;
  }

  std::string getString() const {
    if (!value.is_string())
      throw malformed(path, "not a string");
    return value.get<std::string>();
  }

  double getNumber() const {
    if (!value.is_number())
      throw malformed(path, "not a number");
    return value.get<double>();
  }

  bool getBool() const {
    if (!value.is_boolean())
      throw malformed(path, "not a boolean");
    return value.get<bool>();
  }

  int64_t getCount() const {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() &&
         value.get<uint64_t>() > static_cast<uint64_t>(kMaxBytes)) ||
        value.get<int64_t>() < 0 || value.get<int64_t>() > kMaxBytes)
      throw malformed(path, "not a size");
    return value.get<int64_t>();
  }

  int64_t getInteger() const {
    bool isTooLarge = value.is_number_unsigned() &&
                      value.get<uint64_t>() > uint64_t(INT64_MAX);
    if (!value.is_number_integer() || isTooLarge)
      throw malformed(path, "not an integer");
    return value.get<int64_t>();
  }

  DType getDType() const {
    std::string name = getString();
    std::optional<DType> type = parseDType(name);
    if (!type)
      throw malformed(path, "unknown element type '" + name + "'");
    return *type;
  }

  /// The position of the string in `names`.
  int getChoice(std::initializer_list<const char *> names) const {
    std::string text = getString();
    int index = 0;
    for (const char *name : names) {
      if (text == name)
        return index;
      ++index;
    }
    throw malformed(path, "unknown value '" + text + "'");
  }

  Error makeError(const std::string &what) const {
    return malformed(path, what);
  }

  const nlohmann::json &value;
  std::string path;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MANIFESTFIELD_H
