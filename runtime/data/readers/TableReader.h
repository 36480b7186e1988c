// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The base of readers of tables: each column is a field, and `*` stands for the
// numbers of all columns but labels.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_TABLEREADER_H
#define INGOT_RUNTIME_DATA_READERS_TABLEREADER_H

#include "runtime/data/readers/Reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

class TableReader : public Reader {
public:
  /// `*` is no field of its own: programs that list fields pass it over.
  std::optional<size_t> findField(std::string_view name) const override {
    auto own = Reader::findField(name);
    return own || name != "*" ? own : std::optional(names.size());
  }
  std::string describe(size_t field, int64_t sample) const override {
    if (!isRow(field))
      return Reader::describe(field, sample);
    return path + ": sample " + std::to_string(firstNumber + sample);
  }
  std::string describeField(size_t field) const override {
    return isRow(field) ? path : Reader::describeField(field);
  }

protected:
  using Reader::Reader;

  /// Whether the field is `*`.
  bool isRow(size_t field) const { return field == names.size(); }

  /// The columns that `*` consists of.
  std::vector<size_t> features;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_READERS_TABLEREADER_H
