// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Headers of tar archives. Layout: POSIX.1-2001 (pax) and GNU tar's manual.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/files/TarIndex.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/files/Crc32.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sys/stat.h>

using namespace ingot::runtime;

static constexpr uint64_t kBlock = 512;
/// Longer names and headers are somebody's joke.
static constexpr uint64_t kMostHeader = uint64_t(1) << 20;

static Error damaged(const std::string &path, uint64_t offset,
                     const std::string &what) {
  return badInput(path, what + " (byte " + std::to_string(offset) + ")",
                  "write the archive again, with tar");
}

static std::string_view cutAtZero(std::string_view text) {
  return text.substr(0, text.find('\0'));
}

/// Reads an octal number, or GNU's binary one. None if it is neither.
static std::optional<uint64_t> parseNumber(std::string_view field) {
  uint64_t value = 0;
  if (static_cast<uint8_t>(field[0]) & 0x80) {
    for (size_t i = 1; i < field.size(); ++i) {
      if (value >> 56)
        return std::nullopt;
      value = value << 8 | static_cast<uint8_t>(field[i]);
    }
    return value;
  }
  size_t at = 0;
  while (at < field.size() && field[at] == ' ')
    ++at;
  for (; at < field.size() && field[at] >= '0' && field[at] <= '7'; ++at)
    value = value << 3 | static_cast<uint64_t>(field[at] - '0');
  if (at < field.size() && field[at] != ' ' && field[at] != '\0')
    return std::nullopt;
  return value;
}

static bool hasChecksum(std::string_view header) {
  constexpr size_t at = 148, size = 8;
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i)
    sum += i >= at && i < at + size ? ' ' : static_cast<uint8_t>(header[i]);
  return parseNumber(header.substr(at, size)) == sum;
}

bool ingot::runtime::isTar(std::string_view bytes) {
  return bytes.size() >= kBlock && bytes[0] != '\0' &&
         hasChecksum(bytes.substr(0, kBlock));
}

namespace {

/// The values that headers before a member give it.
struct Overrides {
  std::optional<std::string> name;
  std::optional<uint64_t> size;
};

} // namespace

/// Reads the records `LENGTH KEY=VALUE\n` of a pax header.
static void readPax(std::string_view text, Overrides &overrides,
                    const std::string &path, uint64_t offset) {
  while (!text.empty() && text[0] != '\0') {
    size_t length = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), length);
    size_t digits = static_cast<size_t>(end - text.data());
    if (error != std::errc() || length > text.size() || length < digits + 2 ||
        text[digits] != ' ')
      throw damaged(path, offset, "an extended header is damaged");
    std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    size_t equals = record.find('=');
    if (equals == std::string_view::npos)
      throw damaged(path, offset, "an extended header is damaged");
    std::string_view key = record.substr(0, equals);
    std::string_view value = record.substr(equals + 1);
    if (key == "path") {
      overrides.name = std::string(value);
    } else if (key == "size") {
      uint64_t size = 0;
      auto parsed =
          std::from_chars(value.data(), value.data() + value.size(), size);
      if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size())
        throw damaged(path, offset, "an extended header is damaged");
      overrides.size = size;
    } else if (key.starts_with("GNU.sparse")) {
      throw damaged(path, offset, "a member is stored sparsely");
    }
  }
}

TarIndex ingot::runtime::readTar(std::string_view bytes,
                                 const std::string &path) {
  TarIndex index;
  Overrides overrides;
  uint64_t at = 0;
  while (at + kBlock <= bytes.size()) {
    std::string_view header = bytes.substr(at, kBlock);
    if (header[0] == '\0' && header.find_first_not_of('\0') == header.npos)
      return index;
    if (!hasChecksum(header))
      throw damaged(path, at, "a member's header is damaged");
    auto size = parseNumber(header.substr(124, 12));
    if (overrides.size)
      size = overrides.size;
    uint64_t data = at + kBlock;
    if (!size || *size > bytes.size() - data)
      throw damaged(path, at, "the archive is truncated");
    char type = header[156];
    std::string_view content = bytes.substr(data, *size);
    uint64_t padded = (*size + kBlock - 1) / kBlock * kBlock;
    if (type == 'L' || type == 'x' || type == 'K' || type == 'g') {
      if (*size > kMostHeader)
        throw damaged(path, at, "an extended header is too long");
      if (type == 'L')
        overrides.name = std::string(cutAtZero(content));
      else if (type == 'x')
        readPax(content, overrides, path, at);
    } else {
      if (type == 'S')
        throw damaged(path, at, "a member is stored sparsely");
      if (type == '0' || type == '\0' || type == '7') {
        std::string name(cutAtZero(header.substr(0, 100)));
        std::string_view prefix = cutAtZero(header.substr(345, 155));
        if (header.substr(257, 6) == std::string_view("ustar\0", 6) &&
            !prefix.empty())
          name = std::string(prefix) + "/" + name;
        if (overrides.name)
          name = *overrides.name;
        index.members.push_back({data, *size, index.names.size(), name.size()});
        index.names += name;
      }
      overrides = {};
    }
    if (padded > bytes.size() - data)
      throw damaged(path, at, "the archive is truncated");
    at = data + padded;
  }
  // An archive ends with a block of zeros; some writers leave it out.
  if (at < bytes.size())
    throw damaged(path, at, "the archive is truncated");
  return index;
}

std::optional<StreamedMember>
ingot::runtime::takeMember(std::string_view bytes, const std::string &path) {
  Overrides overrides;
  uint64_t at = 0;
  while (bytes.size() >= kBlock && at <= bytes.size() - kBlock) {
    std::string_view header = bytes.substr(at, kBlock);
    if (header[0] == '\0' && header.find_first_not_of('\0') == header.npos)
      return StreamedMember{"", at + kBlock, true};
    auto size = parseNumber(header.substr(124, 12));
    if (!hasChecksum(header) || !size)
      throw damaged(path, at, "a member's header is damaged");
    char type = header[156];
    bool isExtended = type == 'L' || type == 'x' || type == 'K' || type == 'g';
    if (isExtended && *size > kMostHeader)
      throw damaged(path, at, "an extended header is too long");
    if (!isExtended && overrides.size)
      size = overrides.size;
    uint64_t room = bytes.size() - at - kBlock;
    if (*size > room || (*size + kBlock - 1) / kBlock * kBlock > room)
      return std::nullopt;
    if (type == 'x')
      readPax(bytes.substr(at + kBlock, *size), overrides, path, at);
    at += kBlock + (*size + kBlock - 1) / kBlock * kBlock;
    if (isExtended)
      continue;
    TarIndex index = readTar(bytes.substr(0, at), path);
    StreamedMember member{"", at};
    if (!index.members.empty())
      member.key = splitMember(index.getName(index.members[0])).first;
    return member;
  }
  return std::nullopt;
}

std::pair<std::string_view, std::string_view>
ingot::runtime::splitMember(std::string_view name) {
  size_t slash = name.rfind('/');
  size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == name.size())
    return {};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::string ingot::runtime::getIndexPath(const std::string &archive) {
  return archive + ".index";
}

namespace {

/// The first bytes of an index. It is read by the machine that wrote it, or by
/// one like it.
struct IndexHeader {
  char magic[8];
  uint64_t archiveSize;
  int64_t seconds, nanoseconds;
  uint64_t members, nameBytes, checksum;
};

} // namespace

static constexpr char kMagic[8] = {'I', 'N', 'G', 'O', 'T', 'T', 'X', '1'};

static uint64_t getChecksum(std::string_view members, std::string_view names) {
  return computeCrc32(names, computeCrc32(members));
}

static bool getTimes(const std::string &archive, IndexHeader &header) {
  struct stat status;
  if (stat(archive.c_str(), &status) != 0)
    return false;
  header.archiveSize = static_cast<uint64_t>(status.st_size);
  header.seconds = status.st_mtim.tv_sec;
  header.nanoseconds = status.st_mtim.tv_nsec;
  return true;
}

void ingot::runtime::writeIndex(const TarIndex &index,
                                const std::string &archive) {
  IndexHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  getTimes(archive, header);
  std::string_view members(reinterpret_cast<const char *>(index.members.data()),
                           index.members.size() * sizeof(TarIndex::Member));
  header.members = index.members.size();
  header.nameBytes = index.names.size();
  header.checksum = getChecksum(members, index.names);
  AtomicFile file(getIndexPath(archive), Links::Replace);
  file.write(&header, sizeof(header));
  file.write(members);
  file.write(index.names);
  file.commit();
}

bool ingot::runtime::readIndex(const std::string &archive, uint64_t size,
                               TarIndex &index) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(getIndexPath(archive), ignored))
    return false;
  MappedFile file(getIndexPath(archive));
  std::string_view bytes = file.getBytes();
  IndexHeader header{}, actual{};
  if (bytes.size() < sizeof(header) || !getTimes(archive, actual))
    return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes.remove_prefix(sizeof(header));
  constexpr uint64_t each = sizeof(TarIndex::Member);
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 ||
      header.archiveSize != actual.archiveSize || header.archiveSize != size ||
      header.seconds != actual.seconds ||
      header.nanoseconds != actual.nanoseconds ||
      header.members > bytes.size() / each ||
      header.nameBytes != bytes.size() - header.members * each)
    return false;
  std::string_view members = bytes.substr(0, header.members * each);
  std::string_view names = bytes.substr(members.size());
  if (header.checksum != getChecksum(members, names))
    return false;
  index.members.resize(header.members);
  if (!members.empty())
    std::memcpy(index.members.data(), members.data(), members.size());
  index.names = std::string(names);
  for (const TarIndex::Member &member : index.members)
    if (member.offset > size || member.size > size - member.offset ||
        member.name > names.size() ||
        member.nameSize > names.size() - member.name)
      return false;
  return true;
}
