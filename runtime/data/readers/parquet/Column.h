// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A decoded column: values one after another, and where the lists begin.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_PARQUET_COLUMN_H
#define INGOT_RUNTIME_DATA_READERS_PARQUET_COLUMN_H

#include "runtime/data/readers/Reader.h"
#include "runtime/data/readers/parquet/Encodings.h"

#include <memory>

namespace ingot::runtime::parquet {

class Column {
public:
  /// Decodes the column of a leaf. `where` names it in errors. Throws badInput.
  Column(const MappedFile &file, const Metadata &metadata, size_t leaf,
         Budget &budget, const std::string &where);

  /// Returns a row. Throws badInput.
  Value read(int64_t row, const std::string &where) const;
  /// All rows as one array, if they have one shape and are numbers.
  const Array *getArray() const { return array ? &*array : nullptr; }

private:
  class Builder;

  std::optional<Array> makeArray(int64_t rows) const;
  int64_t getOffset(size_t level, int64_t item) const;

  const Leaf &leaf;
  std::unique_ptr<ByteStore> bytes;
  MappedFile values;
  /// For each level of lists, where the items of each list begin, and the end.
  std::vector<MappedFile> offsets;
  /// Whether each row has a null; empty if none has.
  std::vector<bool> nulls;
  std::optional<Array> array;
};

} // namespace ingot::runtime::parquet

#endif // INGOT_RUNTIME_DATA_READERS_PARQUET_COLUMN_H
