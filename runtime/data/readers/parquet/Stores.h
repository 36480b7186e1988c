// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Where decoded columns lie: in nameless files, whose pages the system can drop
// from memory, like those of decompressed files.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_PARQUET_STORES_H
#define INGOT_RUNTIME_DATA_READERS_PARQUET_STORES_H

#include "runtime/core/File.h"
#include "runtime/data/unpacking/NamelessFile.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::runtime::parquet {

/// Bounds what is made of a file, so that a small one takes neither all space
/// nor all time. Columns that are decoded at once share it.
class Budget {
public:
  explicit Budget(uint64_t fileSize);
  /// Throws badInput naming the file.
  void take(uint64_t bytes, const std::string &where);

private:
  std::atomic<uint64_t> left;
};

/// Bytes one after another.
class Store {
public:
  Store(const std::string &path, Budget &budget) : path(path), budget(budget) {}

  uint64_t getSize() const { return size; }
  void add(const void *bytes, size_t count);
  void add(std::string_view bytes) { add(bytes.data(), bytes.size()); }
  /// Maps all of them; nothing is added afterwards.
  MappedFile finish();

private:
  void flush();

  const std::string &path;
  Budget &budget;
  uint64_t size = 0;
  std::string buffer;
  /// None as long as there are few.
  std::unique_ptr<NamelessFile> file;
};

/// Where a byte array lies.
struct Span {
  uint64_t place = 0, size = 0;
};

/// The bytes of byte arrays. Those that are in the file as they are stay there.
class ByteStore {
public:
  ByteStore(const MappedFile &file, Budget &budget)
      : original(file.getBytes()), own(file.getPath(), budget) {}

  /// Returns the place of the bytes.
  uint64_t add(std::string_view bytes);
  void finish() { added = own.finish(); }
  std::string_view get(Span span) const;

private:
  /// Marks places in the file itself.
  static constexpr uint64_t kInFile = uint64_t(1) << 63;

  std::string_view original;
  Store own;
  MappedFile added;
};

} // namespace ingot::runtime::parquet

#endif // INGOT_RUNTIME_DATA_READERS_PARQUET_STORES_H
