// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/unpacking/Gzip.h"

#include "runtime/core/Error.h"
#include "runtime/data/unpacking/NamelessFile.h"

#include <algorithm>
#include <vector>
#include <zlib.h>

using namespace ingot::runtime;

static Error damaged(const std::string &where, const std::string &what) {
  return badInput(where, "cannot decompress: " + what,
                  "compress the file again, with gzip");
}

bool ingot::runtime::isGzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b\x08");
}

namespace {

/// A stream with gzip's header, or zlib's.
class Inflater {
public:
  explicit Inflater(const std::string &where) : where(where) {
    constexpr int eitherHeader = 32;
    if (inflateInit2(&stream, MAX_WBITS + eitherHeader) != Z_OK)
      throw damaged(where, "no memory");
  }
  Inflater(const Inflater &) = delete;
  Inflater &operator=(const Inflater &) = delete;
  ~Inflater() { inflateEnd(&stream); }

  /// Takes from `bytes` and fills `to`. Returns how many bytes it has. Whether
  /// the stream ends is in `isAtEnd` afterwards.
  size_t inflate(std::string_view &bytes, char *to, size_t size) {
    constexpr size_t most = size_t(1) << 30;
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
    stream.avail_in = static_cast<uInt>(std::min(bytes.size(), most));
    stream.next_out = reinterpret_cast<Bytef *>(to);
    stream.avail_out = static_cast<uInt>(std::min(size, most));
    uInt before = stream.avail_in, room = stream.avail_out;
    int status = ::inflate(&stream, Z_NO_FLUSH);
    size_t taken = before - stream.avail_in, made = room - stream.avail_out;
    bytes.remove_prefix(taken);
    isAtEnd = status == Z_STREAM_END;
    bool isStuck = taken == 0 && made == 0;
    if (status == Z_BUF_ERROR || (status == Z_OK && isStuck))
      throw damaged(where, "the file is truncated");
    if (status != Z_OK && !isAtEnd)
      throw damaged(where, stream.msg ? stream.msg : "the file is damaged");
    return made;
  }

  /// Begins the next member.
  void restart() { inflateReset(&stream); }

  bool isAtEnd = false;

private:
  const std::string &where;
  z_stream stream{};
};

} // namespace

MappedFile ingot::runtime::gunzip(MappedFile file) {
  const std::string &path = file.getPath();
  NamelessFile content(path);
  Inflater inflater(path);
  std::vector<char> piece(size_t(1) << 18);
  std::string_view bytes = file.getBytes();
  // Deflate makes at most 1,032 bytes of one, so that no bound is needed.
  while (true) {
    size_t made = inflater.inflate(bytes, piece.data(), piece.size());
    content.write(piece.data(), made);
    if (!inflater.isAtEnd)
      continue;
    // Padding after the last member is no member.
    if (!isGzip(bytes))
      break;
    inflater.restart();
  }
  if (bytes.find_first_not_of('\0') != std::string_view::npos)
    throw damaged(path, "there is something after the end");
  return content.map();
}

void ingot::runtime::gunzipBlock(std::string_view bytes, char *to, size_t size,
                                 const std::string &where) {
  Inflater inflater(where);
  while (!inflater.isAtEnd) {
    // One byte more than is expected shows that there is more.
    char more;
    size_t made = size != 0 ? inflater.inflate(bytes, to, size)
                            : inflater.inflate(bytes, &more, 1);
    if (made > size)
      throw damaged(where, "the content has another size than is said");
    to += made;
    size -= made;
  }
  if (size != 0)
    throw damaged(where, "the content has another size than is said");
}
