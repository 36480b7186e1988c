// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The portable formats PBM, PGM and PPM, plain or not: a header of numbers, and
// samples.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/formats/Codecs.h"
#include "runtime/data/pictures/formats/Rows.h"

#include <algorithm>

using namespace ingot::runtime;

namespace {

/// A file, from its header on.
class Reader {
public:
  Reader(std::string_view bytes, const std::string &where);

  void readPixels(const PixelFormat &format, Picture &picture);

  PictureSize size;

private:
  Error damaged(const std::string &what) const {
    return badPicture(where, "the PNM picture is damaged: " + what);
  }
  /// Goes to the next byte that is neither white nor in a comment.
  void skipSpace();
  int64_t readNumber(int64_t most);
  /// Reads a sample that is written as text.
  int64_t readPlainSample();

  std::string_view bytes;
  const std::string &where;
  size_t at = 2;
  bool isPlain, isBits, isColor;
  int64_t largest = 1;
};

} // namespace

static bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

Reader::Reader(std::string_view bytes, const std::string &where)
    : bytes(bytes), where(where), isPlain(bytes[1] <= '3'),
      isBits(bytes[1] == '1' || bytes[1] == '4'),
      isColor(bytes[1] == '3' || bytes[1] == '6') {
  size.width = readNumber(kMostPixels);
  size.height = readNumber(kMostPixels);
  checkSize(size.width, size.height, where);
  if (!isBits)
    largest = readNumber(UINT16_MAX);
  if (largest == 0)
    throw damaged("its largest value is 0");
  // One white byte, and then samples. The bytes bound what is allocated.
  ++at;
  int64_t samples = size.width * (isColor ? 3 : 1);
  int64_t rowBytes = isPlain         ? samples
                     : isBits        ? (samples + 7) / 8
                     : largest > 255 ? 2 * samples
                                     : samples;
  if (at > bytes.size() ||
      static_cast<int64_t>(bytes.size() - at) / rowBytes < size.height)
    throw damaged("it is truncated");
}

void Reader::skipSpace() {
  while (at < bytes.size() && (isSpace(bytes[at]) || bytes[at] == '#')) {
    if (bytes[at] == '#')
      at = std::min(bytes.find_first_of("\r\n", at), bytes.size());
    else
      ++at;
  }
}

int64_t Reader::readNumber(int64_t most) {
  skipSpace();
  int64_t number = 0;
  size_t first = at;
  for (; at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9'; ++at)
    if (number <= most)
      number = number * 10 + (bytes[at] - '0');
  if (at == first)
    throw damaged(at >= bytes.size() ? "it is truncated"
                                     : "where a number is expected is none");
  if (number > most)
    throw damaged("a number is above " + std::to_string(most));
  return number;
}

int64_t Reader::readPlainSample() {
  if (!isBits)
    return readNumber(largest);
  // Bits need no space between them.
  skipSpace();
  if (at >= bytes.size() || (bytes[at] != '0' && bytes[at] != '1'))
    throw damaged("where a bit is expected is none");
  return bytes[at++] - '0';
}

void Reader::readPixels(const PixelFormat &format, Picture &picture) {
  bool isDeep = largest > 255;
  int64_t sampleBytes = isDeep ? 2 : 1, most = isDeep ? UINT16_MAX : UINT8_MAX;
  RowLayout layout;
  layout.isDeep = isDeep;
  layout.step = sampleBytes * (isColor ? 3 : 1);
  if (isColor) {
    layout.green = sampleBytes;
    layout.blue = 2 * sampleBytes;
  }
  if (isBits)
    layout.scale = 255;
  preparePicture(size.width, size.height, layout, format, picture, where);
  auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  int64_t samples = size.width * (isColor ? 3 : 1);
  std::vector<uint8_t> row(static_cast<size_t>(samples * sampleBytes));
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t i = 0; i < samples; ++i) {
      int64_t value = 0;
      if (isPlain) {
        value = readPlainSample();
      } else if (isBits) {
        value = data[at + static_cast<size_t>(i / 8)] >> (7 - i % 8) & 1;
      } else {
        value = data[at++];
        if (isDeep)
          value = value << 8 | data[at++];
      }
      if (isBits)
        value = 1 - value;
      else if (!format.isRaw && largest != most)
        value = std::min((value * most + largest / 2) / largest, most);
      uint8_t *to = row.data() + i * sampleBytes;
      if (isDeep)
        *to++ = static_cast<uint8_t>(value >> 8);
      *to = static_cast<uint8_t>(value);
    }
    if (isBits && !isPlain)
      at += static_cast<size_t>((samples + 7) / 8);
    storeRow(row.data(), layout, format, picture, y);
  }
}

static PictureSize readSize(std::string_view bytes, const std::string &where) {
  return Reader(bytes, where).size;
}

static void decode(std::string_view bytes, const PixelFormat &format,
                   Picture &picture, const std::string &where) {
  Reader(bytes, where).readPixels(format, picture);
}

const PictureCodec ingot::runtime::kPnmCodec = {readSize, decode, nullptr};
