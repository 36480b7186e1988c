// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of a manifest, checked as they are read.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MANIFESTFIELD_H
#define INGOT_RUNTIME_CORE_MANIFESTFIELD_H

#include "runtime/abi/ManifestSupport.h"
#include "runtime/core/Error.h"
#include "runtime/core/libraries/JsonLibrary.h"

#include <cstdint>
#include <map>
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

  /// An item of a list that is known to have it.
  Field operator[](size_t index) const {
    return {value[index], path + "[" + std::to_string(index) + "]"};
  }

  std::vector<Field> getItems() const {
    if (!value.is_array())
      throw malformed(path, "not an array");
    std::vector<Field> items;
    for (size_t i = 0; i < value.size(); ++i)
      items.push_back((*this)[i]);
    return items;
  }

  std::vector<std::pair<std::string, Field>> getMembers() const {
    if (!value.is_object())
      throw malformed(path, "not an object");
    std::vector<std::pair<std::string, Field>> members;
    for (const auto &[name, member] : value.items())
      members.emplace_back(name, Field(member, path + "." + name));
    return members;
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

  Error makeError(const std::string &what) const {
    return malformed(path, what);
  }

  const nlohmann::json &value;
  std::string path;
};

/// Reads what ManifestTypes.h describes; messages name the field.
class ManifestReader {
public:
  explicit ManifestReader(const Field &field) : field(field) {}

  template <typename T>
  void visitRequired(const char *key, T &value, Sign sign = Sign::NotNegative) {
    read(field[key], value, sign);
  }
  template <typename T>
  void visitOptional(const char *key, std::optional<T> &value,
                     Sign sign = Sign::NotNegative) {
    if (field.has(key))
      read(field[key], value.emplace(), sign);
  }
  /// An absent member keeps its default.
  template <typename T>
  void visitDefault(const char *key, T &value, const T &,
                    Sign sign = Sign::NotNegative) {
    if (field.has(key))
      read(field[key], value, sign);
  }

private:
  /// Reads the values of a row, in order.
  struct RowReader {
    const std::vector<Field> &items;
    size_t next = 0;

    void visitRequired(const char *, int64_t &value) {
      if (next < items.size())
        value = items[next].getCount();
      ++next;
    }
  };

  static void read(const Field &from, std::string &value, Sign) {
    value = from.getString();
  }
  static void read(const Field &from, double &value, Sign) {
    value = from.getNumber();
  }
  static void read(const Field &from, bool &value, Sign) {
    value = from.getBool();
  }
  static void read(const Field &from, int64_t &value, Sign sign) {
    value = sign == Sign::Any ? from.getInteger() : from.getCount();
  }
  template <HasNames Enum>
  static void read(const Field &from, Enum &value, Sign) {
    std::string text = from.getString();
    std::optional<Enum> known = parseName<Enum>(text);
    if (!known)
      throw from.makeError("unknown value '" + text + "'");
    value = *known;
  }
  template <typename T>
  static void read(const Field &from, std::vector<T> &values, Sign sign) {
    for (const Field &item : from.getItems())
      read(item, values.emplace_back(), sign);
  }
  template <typename T>
  static void read(const Field &from, std::map<std::string, T> &values,
                   Sign sign) {
    for (const auto &[name, item] : from.getMembers())
      read(item, values[name], sign);
  }
  template <typename Object>
    requires std::is_class_v<Object>
  static void read(const Field &from, Object &object, Sign) {
    if constexpr (kIsRow<Object>) {
      std::vector<Field> items = from.getItems();
      RowReader row{items};
      visit(row, object);
      if (row.next != items.size())
        throw from.makeError("not a list of " + std::to_string(row.next) +
                             " numbers");
    } else {
      ManifestReader reader(from);
      visit(reader, object);
    }
  }

  const Field &field;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MANIFESTFIELD_H
