// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ZIP archives. Layout: PKWARE's APPNOTE 4.3 to 4.5.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Zip.h"

#include "runtime/core/Error.h"
#include "runtime/core/Text.h"
#include "runtime/core/files/Crc32.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

using namespace ingot::runtime;

static constexpr uint32_t kLocalSignature = 0x04034b50;
static constexpr uint32_t kCentralSignature = 0x02014b50;
static constexpr uint32_t kEndSignature = 0x06054b50;
static constexpr uint32_t kEnd64Signature = 0x06064b50;
static constexpr uint32_t kLocatorSignature = 0x07064b50;
static constexpr size_t kLocalSize = 30, kEndSize = 22;
static constexpr size_t kEnd64Size = 56, kLocatorSize = 20;
static constexpr uint16_t kZip64Extra = 1;
static constexpr uint32_t kIn64 = 0xffffffff;

static Error corrupt(const std::string &path, const std::string &what) {
  return badInput(path, what, "write the file again, with numpy.savez");
}

namespace {

/// Reads little-endian numbers, and checks that they are within the bytes.
class Cursor {
public:
  Cursor(std::string_view bytes, const std::string &path)
      : bytes(bytes), path(path) {}

  template <typename T> T get() {
    std::string_view raw = take(sizeof(T));
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      value |= static_cast<T>(static_cast<T>(static_cast<uint8_t>(raw[i]))
                              << (8 * i));
    return value;
  }

  std::string_view take(uint64_t size) {
    if (size > bytes.size())
      throw corrupt(path, "the archive is truncated");
    std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
  }

  bool empty() const { return bytes.empty(); }

private:
  std::string_view bytes;
  const std::string &path;
};

/// The position of the table of contents, from the end of the archive.
struct Directory {
  uint64_t count = 0, size = 0, offset = 0;
};

} // namespace

static std::string_view slice(std::string_view bytes, uint64_t offset,
                              uint64_t size, const std::string &path) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    throw corrupt(path, "the archive is truncated");
  return bytes.substr(offset, size);
}

bool ingot::runtime::isZip(std::string_view bytes) {
  // An entry, or the end record of an archive without entries.
  return bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06") ||
         bytes.starts_with("PK\x06\x06");
}

static Directory findDirectory(std::string_view bytes,
                               const std::string &path) {
  // The end record is last, before a comment of at most 64 KiB.
  constexpr size_t maxComment = 0xffff;
  size_t begin = bytes.size() - std::min(bytes.size(), kEndSize + maxComment);
  size_t at = bytes.substr(begin).rfind("PK\x05\x06");
  if (at == std::string_view::npos || begin + at + kEndSize > bytes.size())
    throw corrupt(path, "the archive is truncated: it has no end record");
  at += begin;
  Cursor end(slice(bytes, at, kEndSize, path), path);
  end.take(10);
  Directory directory;
  directory.count = end.get<uint16_t>();
  directory.size = end.get<uint32_t>();
  directory.offset = end.get<uint32_t>();
  if (at < kLocatorSize)
    return directory;
  Cursor locator(slice(bytes, at - kLocatorSize, kLocatorSize, path), path);
  if (locator.get<uint32_t>() != kLocatorSignature)
    return directory;
  locator.take(4);
  Cursor end64(slice(bytes, locator.get<uint64_t>(), kEnd64Size, path), path);
  if (end64.get<uint32_t>() != kEnd64Signature)
    throw corrupt(path, "the archive's zip64 end record is damaged");
  end64.take(28);
  directory.count = end64.get<uint64_t>();
  directory.size = end64.get<uint64_t>();
  directory.offset = end64.get<uint64_t>();
  return directory;
}

/// Sizes that do not fit in 32 bits are in an extra field, in this order.
static void readZip64(std::string_view extra, ZipEntry &entry,
                      const std::string &path) {
  Cursor fields(extra, path);
  while (!fields.empty()) {
    uint16_t kind = fields.get<uint16_t>();
    Cursor field(fields.take(fields.get<uint16_t>()), path);
    if (kind != kZip64Extra)
      continue;
    for (uint64_t *value :
         {&entry.size, &entry.compressedSize, &entry.headerOffset})
      if (*value == kIn64)
        *value = field.get<uint64_t>();
  }
}

std::vector<ZipEntry>
ingot::runtime::readZipDirectory(std::string_view bytes,
                                 const std::string &path) {
  Directory directory = findDirectory(bytes, path);
  Cursor cursor(slice(bytes, directory.offset, directory.size, path), path);
  std::vector<ZipEntry> entries;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (cursor.get<uint32_t>() != kCentralSignature)
      throw corrupt(path, "the archive's table of contents is damaged");
    ZipEntry &entry = entries.emplace_back();
    cursor.take(4);
    entry.flags = cursor.get<uint16_t>();
    entry.method = cursor.get<uint16_t>();
    cursor.take(4);
    entry.crc = cursor.get<uint32_t>();
    entry.compressedSize = cursor.get<uint32_t>();
    entry.size = cursor.get<uint32_t>();
    uint16_t nameSize = cursor.get<uint16_t>();
    uint16_t extraSize = cursor.get<uint16_t>();
    uint16_t commentSize = cursor.get<uint16_t>();
    cursor.take(8);
    entry.headerOffset = cursor.get<uint32_t>();
    entry.name = cursor.take(nameSize);
    readZip64(cursor.take(extraSize), entry, path);
    cursor.take(commentSize);
  }
  return entries;
}

/// Inflates a raw deflate stream into exactly `size` bytes.
static bool inflateInto(std::string_view compressed, char *out, uint64_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  constexpr uint64_t chunk = 1u << 30;
  int status = Z_OK;
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<char *>(compressed.data()));
  stream.next_out = reinterpret_cast<Bytef *>(out);
  uint64_t inLeft = compressed.size(), outLeft = size;
  while (status == Z_OK) {
    uInt in = static_cast<uInt>(std::min(inLeft, chunk));
    uInt room = static_cast<uInt>(std::min(outLeft, chunk));
    stream.avail_in = in;
    stream.avail_out = room;
    status = inflate(&stream, Z_NO_FLUSH);
    inLeft -= in - stream.avail_in;
    outLeft -= room - stream.avail_out;
    bool stuck = in == stream.avail_in && room == stream.avail_out;
    if (stuck && status == Z_OK)
      break;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && outLeft == 0;
}

std::string_view ingot::runtime::readZipEntry(std::string_view bytes,
                                              const ZipEntry &entry,
                                              const std::string &path,
                                              Block &storage) {
  std::string where = path + ": " + entry.name;
  if (entry.flags & 1)
    throw corrupt(where, "the entry is encrypted");
  Cursor header(slice(bytes, entry.headerOffset, kLocalSize, path), path);
  if (header.get<uint32_t>() != kLocalSignature)
    throw corrupt(where, "the entry's header is damaged");
  header.take(22);
  uint64_t nameSize = header.get<uint16_t>();
  uint64_t extraSize = header.get<uint16_t>();
  std::string_view content =
      slice(bytes, entry.headerOffset + kLocalSize + nameSize + extraSize,
            entry.compressedSize, path);
  constexpr uint16_t stored = 0, deflated = 8;
  if (entry.method == deflated) {
    // Deflate cannot compress better than this, so that a larger size is
    // damage, and must not lead to a huge allocation.
    constexpr uint64_t maxRatio = 1032;
    if (entry.size / maxRatio > entry.compressedSize)
      throw corrupt(where, "the entry's size is damaged");
    storage = Block(entry.size, where);
    if (!inflateInto(content, storage.getData(), entry.size))
      throw corrupt(where, "the entry's compressed data is damaged");
    content = {storage.getData(), entry.size};
  } else if (entry.method != stored) {
    throw badInput(where,
                   "compression method " + std::to_string(entry.method) +
                       " is not supported",
                   "write the file with numpy.savez or savez_compressed");
  }
  if (content.size() != entry.size)
    throw corrupt(where, "the entry's size is damaged");
  if (computeCrc32(content) != entry.crc)
    throw corrupt(where, "the entry's checksum does not match");
  return content;
}

template <typename T> static void put(std::string &out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
}

// Every entry is written with 64-bit sizes, as NumPy does, so that there is one
// form to test. The date 1980-01-01 keeps files reproducible.
static constexpr uint16_t kVersion = 45;
static constexpr uint32_t kDosDate = 0x00210000;

/// The fields that both headers of an entry have: flags to the name's length.
static void putDescription(std::string &out, const ZipEntry &entry) {
  put<uint16_t>(out, 0);
  put<uint16_t>(out, 0);
  put<uint32_t>(out, kDosDate);
  put<uint32_t>(out, entry.crc);
  put<uint32_t>(out, kIn64);
  put<uint32_t>(out, kIn64);
  put<uint16_t>(out, static_cast<uint16_t>(entry.name.size()));
}

static void putLocalHeader(std::string &out, const ZipEntry &entry) {
  put<uint32_t>(out, kLocalSignature);
  put<uint16_t>(out, kVersion);
  putDescription(out, entry);
  put<uint16_t>(out, 20);
  out += entry.name;
  put<uint16_t>(out, kZip64Extra);
  put<uint16_t>(out, 16);
  put<uint64_t>(out, entry.size);
  put<uint64_t>(out, entry.size);
}

static void putCentralHeader(std::string &out, const ZipEntry &entry) {
  put<uint32_t>(out, kCentralSignature);
  put<uint16_t>(out, kVersion);
  put<uint16_t>(out, kVersion);
  putDescription(out, entry);
  put<uint16_t>(out, 28);
  put<uint16_t>(out, 0);
  put<uint32_t>(out, 0);
  put<uint32_t>(out, 0);
  put<uint32_t>(out, kIn64);
  out += entry.name;
  put<uint16_t>(out, kZip64Extra);
  put<uint16_t>(out, 24);
  put<uint64_t>(out, entry.size);
  put<uint64_t>(out, entry.size);
  put<uint64_t>(out, entry.headerOffset);
}

void ZipWriter::begin(const std::string &name, uint64_t size) {
  constexpr size_t mostName = 0xffff;
  if (name.size() > mostName)
    throw badInput(path + ": " + describeName(name),
                   "the name of an array is longer than an archive can hold",
                   "rename it");
  ZipEntry &entry = entries.emplace_back();
  entry.name = name;
  entry.size = size;
  entry.headerOffset = file.getSize();
  std::string header;
  putLocalHeader(header, entry);
  file.write(header);
}

void ZipWriter::write(std::string_view bytes) {
  entries.back().crc = computeCrc32(bytes, entries.back().crc);
  file.write(bytes);
}

void ZipWriter::end() {
  constexpr uint64_t crcOffset = 14;
  std::string crc;
  put<uint32_t>(crc, entries.back().crc);
  file.rewrite(entries.back().headerOffset + crcOffset, crc);
}

void ZipWriter::commit() {
  uint64_t offset = file.getSize(), count = entries.size();
  std::string out;
  for (const ZipEntry &entry : entries)
    putCentralHeader(out, entry);
  uint64_t size = out.size();
  put<uint32_t>(out, kEnd64Signature);
  put<uint64_t>(out, kEnd64Size - 12);
  put<uint16_t>(out, kVersion);
  put<uint16_t>(out, kVersion);
  put<uint32_t>(out, 0);
  put<uint32_t>(out, 0);
  put<uint64_t>(out, count);
  put<uint64_t>(out, count);
  put<uint64_t>(out, size);
  put<uint64_t>(out, offset);
  put<uint32_t>(out, kLocatorSignature);
  put<uint32_t>(out, 0);
  put<uint64_t>(out, offset + size);
  put<uint32_t>(out, 1);
  put<uint32_t>(out, kEndSignature);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff)));
  put<uint16_t>(out, static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff)));
  put<uint32_t>(out, kIn64);
  put<uint32_t>(out, kIn64);
  put<uint16_t>(out, 0);
  file.write(out);
  file.commit();
}
