// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The pages of a column in a row group.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_PARQUET_PAGES_H
#define INGOT_RUNTIME_DATA_READERS_PARQUET_PAGES_H

#include "runtime/data/readers/parquet/Encodings.h"

namespace ingot::runtime::parquet {

/// A page of values and their levels.
struct Page {
  /// The entries of the page: values, nulls and empty lists.
  uint64_t count = 0;
  /// Levels of repetition and of definition, if the leaf has them.
  RunDecoder repetitions, definitions;
  Encoding encoding = Encoding::Plain;
  std::string_view values;
};

class PageReader {
public:
  /// `bytes` are the pages.
  PageReader(std::string_view bytes, const Chunk &chunk, const Leaf &leaf,
             ByteStore &store, Budget &budget, const std::string &where)
      : bytes(bytes), chunk(chunk), leaf(leaf), store(store), budget(budget),
        where(where) {}

  /// Reads the next page of values, which is valid until the next call.
  /// Returns false after the last one. Throws badInput.
  bool next(Page &page);
  /// The dictionary, if there was one.
  const Dictionary *getDictionary() const {
    return hasDictionary ? &dictionary : nullptr;
  }

private:
  struct Header;

  Header readHeader();
  std::string_view takeBody(const Header &header);
  std::string_view decompress(std::string_view packed, int64_t size,
                              Codec codec);
  void readDictionary(const Header &header);
  void readFirstFormat(const Header &header, Page &page);
  void readSecondFormat(const Header &header, Page &page);
  /// Removes the levels of a page in the first format from its bytes.
  RunDecoder takeLevels(std::string_view &body, int most, int64_t encoding);

  std::string_view bytes;
  const Chunk &chunk;
  const Leaf &leaf;
  ByteStore &store;
  Budget &budget;
  const std::string &where;
  int64_t taken = 0;
  bool hasDictionary = false;
  Dictionary dictionary;
  /// The content of the page, if it is compressed.
  std::string content;
};

} // namespace ingot::runtime::parquet

#endif // INGOT_RUNTIME_DATA_READERS_PARQUET_PAGES_H
