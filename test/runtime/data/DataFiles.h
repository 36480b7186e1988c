// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Writers of the formats that the tests of the readers need.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_DATA_DATAFILES_H
#define INGOT_TEST_RUNTIME_DATA_DATAFILES_H

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include <zstd.h>

namespace ingot::runtime::test {

struct TarMember {
  std::string name, content;
  char type = '0';
  std::string link = {};
};

/// An archive with these members.
inline std::string makeTar(const std::vector<TarMember> &members) {
  std::string archive;
  for (const TarMember &member : members) {
    char header[512] = {};
    std::memcpy(header, member.name.data(), member.name.size());
    std::snprintf(header + 100, 8, "%07o", 0644);
    std::snprintf(header + 124, 12, "%011o",
                  static_cast<unsigned>(member.content.size()));
    header[156] = member.type;
    std::memcpy(header + 157, member.link.data(), member.link.size());
    std::memcpy(header + 257, "ustar\00000", 8);
    std::memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (char c : header)
      sum += static_cast<unsigned char>(c);
    std::snprintf(header + 148, 8, "%06o", sum);
    archive.append(header, sizeof(header));
    archive += member.content;
    archive.resize((archive.size() + 511) / 512 * 512);
  }
  archive.resize(archive.size() + 1024);
  return archive;
}

/// Numbers as they lie in memory.
template <typename T> std::string makeBytes(const std::vector<T> &numbers) {
  return {reinterpret_cast<const char *>(numbers.data()),
          numbers.size() * sizeof(T)};
}

/// The header of one of llm.c's token files.
inline std::string makeTokenHeader(int32_t magic, int32_t version,
                                   int32_t count) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return makeBytes(header);
}

inline std::string compress(const std::string &bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(),
                              bytes.size(), 1));
  return packed;
}

} // namespace ingot::runtime::test

#endif // INGOT_TEST_RUNTIME_DATA_DATAFILES_H
