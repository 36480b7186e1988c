// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/unpacking/Zstd.h"

#include "runtime/core/Error.h"
#include "runtime/data/unpacking/NamelessFile.h"

#include <memory>
#include <vector>
#include <zstd.h>

using namespace ingot::runtime;

/// Files of any ratio may have this many bytes.
static constexpr uint64_t kFree = uint64_t(64) << 20;

static Error damaged(const std::string &where, const std::string &what) {
  return badInput(where, "cannot decompress: " + what,
                  "compress the file again, with zstd");
}

bool ingot::runtime::isZstd(std::string_view bytes) {
  return bytes.starts_with("\x28\xb5\x2f\xfd");
}

MappedFile ingot::runtime::decompress(MappedFile file) {
  const std::string &path = file.getPath();
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(
      ZSTD_createDStream(), ZSTD_freeDStream);
  NamelessFile content(path);
  std::vector<char> piece(ZSTD_DStreamOutSize());
  std::string_view bytes = file.getBytes();
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  uint64_t most = bytes.size() * kMostRatio + kFree, size = 0;
  size_t left = 1;
  while (in.pos < in.size || left != 0) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    size_t before = in.pos;
    left = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(left))
      throw damaged(path, ZSTD_getErrorName(left));
    size += out.pos;
    if (size > most)
      throw damaged(path, "the content is more than " +
                              std::to_string(kMostRatio) +
                              " times as large as the file");
    content.write(piece.data(), out.pos);
    if (in.pos == before && out.pos == 0 && left != 0)
      throw damaged(path, "the file is truncated");
  }
  return content.map();
}

void ingot::runtime::decompressBlock(std::string_view bytes, char *to,
                                     size_t size, const std::string &where) {
  size_t done = ZSTD_decompress(to, size, bytes.data(), bytes.size());
  if (ZSTD_isError(done))
    throw damaged(where, ZSTD_getErrorName(done));
  if (done != size)
    throw damaged(where, "the content has another size than is said");
}
