// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tables in Apache Parquet. A column is decoded as a whole when it is read
// first, because samples are taken in random order; others are left alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Readers.h"

#include "runtime/core/Error.h"
#include "runtime/data/readers/TableReader.h"
#include "runtime/data/readers/parquet/Column.h"

#include <mutex>

using namespace ingot::runtime;
using namespace ingot::runtime::parquet;

bool ingot::runtime::isParquet(std::string_view bytes) {
  return bytes.starts_with("PAR1") || bytes.starts_with("PARE");
}

namespace {

class ParquetReader : public TableReader {
public:
  explicit ParquetReader(MappedFile given)
      : TableReader(given.getPath()), file(std::move(given)),
        metadata(readMetadata(file.getBytes(), path)),
        budget(file.getBytes().size()), decoded(metadata.fields.size()) {
    for (size_t i = 0; i < metadata.fields.size(); ++i) {
      const std::string &name = metadata.fields[i].name;
      names.push_back(name);
      // The index that pandas adds is no column of the table.
      if (!isLabelColumn(name) && !name.starts_with("__index_level_"))
        features.push_back(i);
    }
    if (metadata.rows == 0)
      throw damaged(path, "the file has no rows");
  }

  std::string_view getKind() const override { return "Parquet"; }
  int64_t getSamples() const override { return metadata.rows; }
  const Array *load(size_t field) override {
    if (isRow(field))
      return nullptr;
    const Field &given = metadata.fields[field];
    // What cannot be read is named with a sample, and may not be wanted.
    if (!given.leaf || metadata.leaves[*given.leaf].isBytes ||
        metadata.leaves[*given.leaf].isOther)
      return nullptr;
    return decode(field).getArray();
  }
  Value read(size_t field, int64_t sample,
             std::string &storage) const override {
    if (isRow(field))
      return readRow(sample, storage);
    const Field &given = metadata.fields[field];
    if (!given.leaf || metadata.leaves[*given.leaf].isOther)
      throw badInput(describe(field, sample),
                     "columns of this type are not supported",
                     "keep numbers, lists of numbers, text, or pictures as "
                     "bytes");
    return decode(field).read(sample, describe(field, sample));
  }

private:
  /// Reads the numbers of all columns but labels.
  Value readRow(int64_t sample, std::string &storage) const {
    std::string row;
    for (size_t field : features) {
      Value value = read(field, sample, storage);
      if (value.kind != Value::Kind::Elements || !value.shape.empty())
        throw badInput(describe(field, sample), "the column holds no numbers",
                       "name the input after a column, or leave this one out");
      double number = 0;
      convert(value.bytes.data(), value.dtype, &number, DType::F64, 1);
      row.append(reinterpret_cast<const char *>(&number), sizeof(number));
    }
    storage = std::move(row);
    Value value;
    value.dtype = DType::F64;
    value.shape = {static_cast<int64_t>(features.size())};
    value.bytes = storage;
    return value;
  }

  /// A decoded column, or why it cannot be decoded.
  struct Decoded {
    std::once_flag once;
    std::unique_ptr<Column> column;
    std::optional<Error> error;
  };

  const Column &decode(size_t field) const {
    Decoded &result = decoded[field];
    std::call_once(result.once, [&] {
      try {
        result.column = std::make_unique<Column>(file, metadata,
                                                 *metadata.fields[field].leaf,
                                                 budget, describeField(field));
      } catch (const Error &error) {
        result.error.emplace(error);
      }
    });
    if (result.error)
      throw *result.error;
    return *result.column;
  }

  MappedFile file;
  Metadata metadata;
  mutable Budget budget;
  mutable std::vector<Decoded> decoded;
};

} // namespace

std::unique_ptr<Reader> ingot::runtime::openParquet(MappedFile file) {
  return std::make_unique<ParquetReader>(std::move(file));
}
