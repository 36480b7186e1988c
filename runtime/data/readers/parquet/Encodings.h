// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The encodings of values and levels in the pages of Parquet files.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_PARQUET_ENCODINGS_H
#define INGOT_RUNTIME_DATA_READERS_PARQUET_ENCODINGS_H

#include "runtime/data/readers/parquet/Metadata.h"
#include "runtime/data/readers/parquet/Stores.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::parquet {

/// Encodings of values, by their numbers in files.
enum class Encoding {
  Plain = 0,
  PlainDictionary = 2,
  Rle = 3,
  BitPacked = 4,
  DeltaBinaryPacked = 5,
  DeltaLengthByteArray = 6,
  DeltaByteArray = 7,
  RleDictionary = 8,
  ByteStreamSplit = 9
};

/// Runs of equal numbers, and groups of eight that are packed by bits: levels,
/// indices of dictionaries, and booleans.
class RunDecoder {
public:
  RunDecoder() = default;
  /// `bits` is at most 32.
  RunDecoder(std::string_view bytes, int bits) : bytes(bytes), bits(bits) {}

  /// Throws badInput if there are fewer.
  void read(uint32_t *to, size_t count, const std::string &where);

private:
  void enterRun(const std::string &where);

  std::string_view bytes;
  int bits = 0;
  /// The rest of the run, and its number, or its bits.
  uint64_t left = 0;
  bool isPacked = false;
  uint32_t repeated = 0;
  std::string_view packed;
  /// The place of the next bit in `packed`.
  uint64_t position = 0;
};

/// The values of a page, in order. One is a number of the leaf's physical type,
/// a byte for a boolean, or a Span.
class ValueDecoder {
public:
  virtual ~ValueDecoder() = default;
  /// Throws badInput if there are fewer.
  virtual void read(size_t count, char *to) = 0;
};

/// The values of a dictionary, by their indices.
struct Dictionary {
  std::string values;
  uint64_t count = 0;
};

/// The input of a decoder, and how errors name it.
struct PageValues {
  const Leaf &leaf;
  Encoding encoding;
  /// How many values may be there at most.
  uint64_t count;
  std::string_view bytes;
  const Dictionary *dictionary;
  const std::string &where;
};

/// The bytes of a value that decoders return.
size_t getValueSize(const Leaf &leaf);

/// Returns the values of a page; those of byte arrays are added to `store`.
/// Throws badInput.
std::unique_ptr<ValueDecoder> decodeValues(const PageValues &page,
                                           ByteStore &store);

} // namespace ingot::runtime::parquet

#endif // INGOT_RUNTIME_DATA_READERS_PARQUET_ENCODINGS_H
