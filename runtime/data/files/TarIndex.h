// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The members of a tar archive: their names and places. Names are labels only:
// nothing is ever written or opened by them, and links are left out.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_FILES_TARINDEX_H
#define INGOT_RUNTIME_DATA_FILES_TARINDEX_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::runtime {

struct TarIndex {
  struct Member {
    uint64_t offset = 0, size = 0;
    /// The place of the name in `names`.
    uint64_t name = 0, nameSize = 0;
  };
  std::vector<Member> members;
  std::string names;

  std::string_view getName(const Member &member) const {
    return std::string_view(names).substr(member.name, member.nameSize);
  }
};

/// Whether the bytes begin with a member's header.
bool isTar(std::string_view bytes);

/// Reads the headers of an archive: ustar, GNU's and pax's. Throws badInput
/// naming `path`.
TarIndex readTar(std::string_view bytes, const std::string &path);

/// The first member of what has come of an archive.
struct StreamedMember {
  /// The key of its sample; empty for folders and what is no member.
  std::string key;
  /// The bytes of the member, with the headers before it and padding.
  uint64_t size = 0;
  /// Whether this is the end of the archive.
  bool isEnd = false;
};
/// Returns the member that the bytes begin with; none if they do not have all
/// of it. Throws badInput naming `path`.
std::optional<StreamedMember> takeMember(std::string_view bytes,
                                         const std::string &path);

/// Splits a member's name into the key of its sample and the name of its field.
/// Folders, and names that begin with a dot, as those of the files in which
/// macOS' tar keeps attributes, have neither.
std::pair<std::string_view, std::string_view>
splitMember(std::string_view name);

/// The file beside an archive that keeps its index.
std::string getIndexPath(const std::string &archive);

/// Writes the index of an archive to getIndexPath(). Throws failure.
void writeIndex(const TarIndex &index, const std::string &archive);

/// Returns the index beside an archive if it is whole and of this archive,
/// which has `size` bytes: by size and time. Empty otherwise, also if somebody
/// made it up.
bool readIndex(const std::string &archive, uint64_t size, TarIndex &index);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_FILES_TARINDEX_H
