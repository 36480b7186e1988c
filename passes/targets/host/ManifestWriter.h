// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Writes what ManifestTypes.h describes as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_MANIFESTWRITER_H
#define INGOT_PASSES_TARGETS_HOST_MANIFESTWRITER_H

#include "runtime/abi/ManifestTypes.h"
#include "llvm/Support/JSON.h"

namespace ingot {

/// The archive that visits an object to write it. Members that have their
/// default are left out.
class ManifestWriter {
public:
  /// Returns an object of the manifest; a row is a list.
  template <typename Object>
    requires std::is_class_v<Object>
  static llvm::json::Value write(const Object &object) {
    if constexpr (runtime::kIsRow<Object>) {
      RowWriter writer;
      visit(writer, object);
      return std::move(writer.items);
    } else {
      ManifestWriter writer;
      visit(writer, object);
      return std::move(writer.members);
    }
  }
  static llvm::json::Value write(const std::string &text) { return text; }
  static llvm::json::Value write(double number) { return number; }
  static llvm::json::Value write(int64_t number) { return number; }
  static llvm::json::Value write(bool flag) { return flag; }
  template <runtime::HasNames Enum> static llvm::json::Value write(Enum value) {
    return llvm::StringRef(runtime::getName(value));
  }
  template <typename T>
  static llvm::json::Value write(const std::vector<T> &values) {
    llvm::json::Array items;
    for (const T &value : values)
      items.push_back(write(value));
    return std::move(items);
  }
  template <typename T>
  static llvm::json::Value write(const std::map<std::string, T> &values) {
    llvm::json::Object members;
    for (const auto &[name, value] : values)
      members[name] = write(value);
    return std::move(members);
  }

  template <typename T>
  void visitRequired(llvm::StringRef key, const T &value,
                     runtime::Sign = runtime::Sign::NotNegative) {
    members[key] = write(value);
  }
  template <typename T>
  void visitOptional(llvm::StringRef key, const std::optional<T> &value,
                     runtime::Sign = runtime::Sign::NotNegative) {
    if (value)
      visitRequired(key, *value);
  }
  template <typename T>
  void visitDefault(llvm::StringRef key, const T &value, const T &standard,
                    runtime::Sign = runtime::Sign::NotNegative) {
    if (!isSame(value, standard))
      visitRequired(key, value);
  }

private:
  template <typename T> static bool isSame(const T &value, const T &standard) {
    return value == standard;
  }
  /// The default of lists and maps is to be empty.
  template <typename T>
  static bool isSame(const std::vector<T> &value, const std::vector<T> &) {
    return value.empty();
  }
  template <typename T>
  static bool isSame(const std::map<std::string, T> &value,
                     const std::map<std::string, T> &) {
    return value.empty();
  }

  /// Writes the values of a row, in order.
  struct RowWriter {
    llvm::json::Array items;

    void visitRequired(llvm::StringRef, int64_t value) {
      items.push_back(value);
    }
  };

  llvm::json::Object members;
};

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_MANIFESTWRITER_H
