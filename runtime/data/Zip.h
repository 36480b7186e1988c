// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ZIP archives as NumPy writes them: entries are stored or deflated, with
// zip64. Stored entries are read in place from a mapped file. The only library
// is zlib.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_ZIP_H
#define INGOT_RUNTIME_DATA_ZIP_H

#include "runtime/core/File.h"
#include "runtime/core/Memory.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

struct ZipEntry {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t compressedSize = 0, size = 0, headerOffset = 0;
};

/// Whether `bytes` begin like a ZIP archive.
bool isZip(std::string_view bytes);

/// Reads the table of contents. `bytes` must outlive the entries. Throws
/// badInput naming `path`.
std::vector<ZipEntry> readZipDirectory(std::string_view bytes,
                                       const std::string &path);

/// Returns the content of an entry: in place if it is stored, else inflated
/// into `storage`. Checks size and checksum.
std::string_view readZipEntry(std::string_view bytes, const ZipEntry &entry,
                              const std::string &path, Block &storage);

/// Writes an archive of stored entries.
class ZipWriter {
public:
  explicit ZipWriter(const std::string &path) : path(path), file(path) {}

  /// Begins an entry of `size` bytes, which any number of writes fill until
  /// end().
  void begin(const std::string &name, uint64_t size);
  void write(std::string_view bytes);
  void end();
  /// Writes the table of contents and renames the file to its final name.
  void commit();

private:
  std::string path;
  AtomicFile file;
  std::vector<ZipEntry> entries;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_ZIP_H
