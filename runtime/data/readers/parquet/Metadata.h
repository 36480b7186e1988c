// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The metadata at the end of a Parquet file: its columns, and where they lie.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_PARQUET_METADATA_H
#define INGOT_RUNTIME_DATA_READERS_PARQUET_METADATA_H

#include "runtime/core/DType.h"
#include "runtime/data/readers/parquet/Errors.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::parquet {

/// The types that values are stored in, by their numbers in files.
enum class Physical {
  Boolean,
  Int32,
  Int64,
  Int96,
  Float,
  Double,
  ByteArray,
  FixedByteArray
};

/// How pages are compressed, by their numbers in files.
enum class Codec { None, Snappy, Gzip, Lzo, Brotli, OldLz4, Zstd, Lz4 };

/// Values that are stored together. Columns of lists of numbers have one leaf,
/// those of structs several.
struct Leaf {
  Physical type = Physical::Int32;
  /// The bytes of a value as it is stored; 0 for byte arrays.
  int64_t width = 0;
  /// The type of the values, unless they are bytes.
  DType dtype = DType::U8;
  bool isBytes = false;
  /// Whether values are neither numbers nor bytes, as dates are.
  bool isOther = false;
  /// The definition level of values that are there.
  int definition = 0;
  /// For each list around the values, the least level at which it has an
  /// element; one less for a list that is empty.
  std::vector<int> lists;
};

/// A column of a table: numbers, lists of them, or bytes.
struct Field {
  std::string name;
  /// The index of its leaf; of pictures, `{bytes, path}`, that of the bytes.
  /// None for structs and maps.
  std::optional<size_t> leaf;
};

/// The values of a leaf in one row group.
struct Chunk {
  Codec codec = Codec::None;
  int64_t values = 0;
  /// Its pages.
  uint64_t offset = 0, size = 0;
};

struct RowGroup {
  int64_t rows = 0;
  /// By the order of the leaves.
  std::vector<Chunk> chunks;
};

struct Metadata {
  std::vector<Field> fields;
  std::vector<Leaf> leaves;
  std::vector<RowGroup> groups;
  int64_t rows = 0;
};

/// Reads the metadata of a file. Throws badInput.
Metadata readMetadata(std::string_view bytes, const std::string &path);

} // namespace ingot::runtime::parquet

#endif // INGOT_RUNTIME_DATA_READERS_PARQUET_METADATA_H
