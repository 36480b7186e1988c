// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as the index of an archive, with the archive's size and time
// and the checksum that belongs to it.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"
#include "test/fuzz/records/Folder.h"

#include "runtime/core/Error.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/data/files/TarIndex.h"
#include "runtime/data/readers/Readers.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>

using namespace ingot;
using namespace ingot::runtime;

/// The words of a header (TarIndex.cpp).
enum Word { Magic, ArchiveSize, Seconds, Nanoseconds, Members, NameBytes, Sum };
static constexpr size_t kWords = 7;

/// Gives an index what belongs to the archive and to its own content.
static std::string mend(std::string_view bytes, const struct stat &archive) {
  std::array<uint64_t, kWords> header{};
  if (bytes.size() < sizeof(header))
    return std::string(bytes);
  std::memcpy(header.data(), bytes.data(), sizeof(header));
  std::memcpy(header.data(), "INGOTTX1", sizeof(uint64_t));
  bytes.remove_prefix(sizeof(header));
  header[ArchiveSize] = static_cast<uint64_t>(archive.st_size);
  header[Seconds] = static_cast<uint64_t>(archive.st_mtim.tv_sec);
  header[Nanoseconds] = static_cast<uint64_t>(archive.st_mtim.tv_nsec);
  uint64_t members = std::min<uint64_t>(
      header[Members], bytes.size() / sizeof(TarIndex::Member));
  std::string_view records =
      bytes.substr(0, members * sizeof(TarIndex::Member));
  if (members == header[Members])
    header[NameBytes] = bytes.size() - records.size();
  header[Sum] =
      computeCrc32(bytes.substr(records.size()), computeCrc32(records));
  return std::string(reinterpret_cast<const char *>(header.data()),
                     sizeof(header)) +
         std::string(bytes);
}

void ingot::fuzz::read(std::string_view bytes) {
  enterFolder();
  constexpr size_t archiveBytes = 8192;
  static const struct stat archive = [] {
    // A member, and its end.
    std::string content(archiveBytes, '\0');
    std::memcpy(content.data(), "a.cls", 5);
    writeFile("a.tar", content);
    struct stat status{};
    if (stat("a.tar", &status) != 0)
      std::abort();
    return status;
  }();
  writeFile("a.tar.index", mend(bytes, archive));
  TarIndex index;
  if (!readIndex("a.tar", archiveBytes, index))
    return;
  std::string content(archiveBytes, '\1');
  for (const TarIndex::Member &member : index.members) {
    touch(index.getName(member));
    touch(std::string_view(content).substr(member.offset, member.size));
    if (member.offset + member.size > archiveBytes)
      std::abort();
  }
  // What is read by it is within the archive, or an error.
  auto reader = openTar(MappedFile("a.tar"));
  for (int64_t s = 0; s < std::min<int64_t>(reader->getSamples(), 16); ++s)
    for (size_t f = 0; f < reader->getNames().size(); ++f) {
      std::string storage;
      try {
        touch(reader->read(f, s, storage).bytes);
      } catch (const Error &error) {
        if (error.getHint().empty() || error.getCode() != ExitCode::BadInput)
          std::abort();
      }
    }
}
