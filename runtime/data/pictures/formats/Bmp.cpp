// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// BMP, of Windows and of OS/2. There is no library of it that is worth its
// weight: pixels are stored as they are, or in runs.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/formats/Codecs.h"
#include "runtime/data/pictures/formats/Rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace ingot::runtime;

namespace {

enum Compression : uint32_t { None = 0, Runs8 = 1, Runs4 = 2, Fields = 3 };

/// The header of a file: what it says about its pixels.
class Header {
public:
  Header(std::string_view bytes, const std::string &where);

  /// Converts all rows.
  void readPixels(const PixelFormat &format, Picture &picture) const;

  PictureSize size;

private:
  Error damaged(const std::string &what) const {
    return badPicture(where, "the BMP picture is damaged: " + what);
  }
  template <typename T> T read(size_t at) const {
    if (at > bytes.size() || bytes.size() - at < sizeof(T))
      throw damaged("it is truncated");
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
  }
  /// Returns the bytes of row `y` of the file.
  const uint8_t *getBytes(int64_t y) const;
  /// Decodes runs of indices to bytes, row after row from the bottom.
  std::vector<uint8_t> decodeRuns() const;
  void readColors(size_t at, size_t count, size_t colorBytes);
  void readMasks(size_t at);
  /// Makes three bytes for each pixel of a row whose colors are parts of
  /// numbers.
  void unpackFields(const uint8_t *row, uint8_t *to) const;

  std::string_view bytes;
  const std::string &where;
  bool isTopDown = false;
  int bits = 0;
  uint32_t compression = None;
  size_t pixels = 0;
  Palette palette{};
  /// Where red, green and blue are in the number of a pixel.
  uint32_t masks[3] = {};
};

} // namespace

Header::Header(std::string_view bytes, const std::string &where)
    : bytes(bytes), where(where) {
  constexpr size_t start = 14, core = 12;
  pixels = read<uint32_t>(10);
  size_t length = read<uint32_t>(start), colorBytes = 4, colors = 0;
  if (length == core) {
    size = {read<uint16_t>(start + 4), read<uint16_t>(start + 6)};
    bits = read<uint16_t>(start + 10);
    colorBytes = 3;
  } else {
    int64_t height = read<int32_t>(start + 8);
    isTopDown = height < 0;
    size = {read<int32_t>(start + 4), isTopDown ? -height : height};
    bits = read<uint16_t>(start + 14);
    compression = read<uint32_t>(start + 16);
    colors = read<uint32_t>(start + 32);
  }
  checkSize(size.width, size.height, where);
  bool isIndexed = bits == 1 || bits == 4 || bits == 8;
  bool isKnown = isIndexed ? compression == None ||
                                 (compression == Runs8 && bits == 8) ||
                                 (compression == Runs4 && bits == 4)
                           : (bits == 16 || bits == 24 || bits == 32) &&
                                 (compression == None || compression == Fields);
  if (!isKnown)
    throw badPicture(where, "BMP pictures of " + std::to_string(bits) +
                                " bits with compression " +
                                std::to_string(compression) + " are not read");
  size_t end = start + length;
  if (isIndexed) {
    if (colors == 0 || colors > palette.size())
      colors = size_t(1) << bits;
    readColors(end, colors, colorBytes);
    // Some files forget that colors come in between.
    size_t after = end + colors * colorBytes;
    if (pixels == 0 || pixels == end)
      pixels = after;
  } else {
    readMasks(end);
    if (pixels == 0)
      pixels = end;
  }
}

void Header::readColors(size_t at, size_t count, size_t colorBytes) {
  for (size_t i = 0; i < count; ++i) {
    size_t color = at + i * colorBytes;
    palette[i] = {read<uint8_t>(color + 2), read<uint8_t>(color + 1),
                  read<uint8_t>(color)};
  }
}

void Header::readMasks(size_t end) {
  constexpr size_t masksAt = 54;
  if (compression == Fields)
    for (size_t c = 0; c < 3; ++c)
      masks[c] = read<uint32_t>(masksAt + c * 4);
  if ((masks[0] | masks[1] | masks[2]) == 0) {
    masks[0] = bits == 16 ? 0x7c00 : 0xff0000;
    masks[1] = bits == 16 ? 0x3e0 : 0xff00;
    masks[2] = bits == 16 ? 0x1f : 0xff;
  }
  for (uint32_t mask : masks) {
    uint32_t ones = mask >> std::countr_zero(mask | 1u << 31);
    // Bits side by side, within the pixel.
    bool isField = mask != 0 && (ones & (ones + 1)) == 0 &&
                   (bits == 32 || mask >> bits == 0);
    if (!isField)
      throw badPicture(where, "the fields of the BMP picture are not read");
  }
}

const uint8_t *Header::getBytes(int64_t y) const {
  auto row = static_cast<uint64_t>((size.width * bits + 7) / 8);
  auto stride = static_cast<uint64_t>((size.width * bits + 31) / 32 * 4);
  uint64_t at = pixels + static_cast<uint64_t>(y) * stride;
  if (at > bytes.size() || bytes.size() - at < row)
    throw damaged("it is truncated");
  return reinterpret_cast<const uint8_t *>(bytes.data()) + at;
}

std::vector<uint8_t> Header::decodeRuns() const {
  auto width = static_cast<size_t>(size.width);
  auto height = static_cast<size_t>(size.height);
  // What runs leave out has the first color.
  std::vector<uint8_t> indices(width * height);
  bool isHalf = compression == Runs4;
  size_t at = pixels, x = 0, y = 0;
  auto next = [&] { return size_t(read<uint8_t>(at++)); };
  auto getHalf = [](size_t byte, size_t i) {
    return static_cast<uint8_t>(i % 2 == 0 ? byte >> 4 : byte & 15);
  };
  while (y + 1 < height || (y + 1 == height && x < width)) {
    size_t count = next(), value = next();
    // What is too long for a row is left out, too.
    size_t some = std::min(count != 0 ? count : value, width - x);
    uint8_t *to = indices.data() + y * width + x;
    if (count != 0) {
      for (size_t i = 0; i < some; ++i)
        to[i] = isHalf ? getHalf(value, i) : static_cast<uint8_t>(value);
      x += some;
    } else if (value == 0) {
      x = 0;
      ++y;
    } else if (value == 1) {
      break;
    } else if (value == 2) {
      x = std::min(width, x + next());
      y += next();
    } else {
      for (size_t i = 0; i < some; ++i) {
        auto byte = read<uint8_t>(at + (isHalf ? i / 2 : i));
        to[i] = isHalf ? getHalf(byte, i) : byte;
      }
      x += some;
      size_t stored = isHalf ? (value + 1) / 2 : value;
      at += stored + stored % 2;
    }
  }
  return indices;
}

void Header::unpackFields(const uint8_t *row, uint8_t *to) const {
  for (int64_t x = 0; x < size.width; ++x) {
    uint32_t pixel = 0;
    std::memcpy(&pixel, row + x * bits / 8, static_cast<size_t>(bits) / 8);
    for (int c = 0; c < 3; ++c) {
      int shift = std::countr_zero(masks[c]);
      uint64_t largest = masks[c] >> shift;
      to[3 * x + c] =
          static_cast<uint8_t>(((pixel & masks[c]) >> shift) * 255 / largest);
    }
  }
}

void Header::readPixels(const PixelFormat &format, Picture &picture) const {
  bool isIndexed = bits <= 8;
  RowLayout layout{3, 0, 1, 2};
  if (isIndexed) {
    layout = {};
    layout.palette = &palette;
  }
  preparePicture(size.width, size.height, layout, format, picture, where);
  bool hasRuns = compression == Runs8 || compression == Runs4;
  std::vector<uint8_t> indices;
  if (hasRuns)
    indices = decodeRuns();
  std::vector<uint8_t> buffer(static_cast<size_t>(size.width * layout.step));
  for (int64_t i = 0; i < size.height; ++i) {
    int64_t y = isTopDown ? i : size.height - 1 - i;
    const uint8_t *row =
        hasRuns ? indices.data() + i * size.width : getBytes(i);
    if (!isIndexed) {
      unpackFields(row, buffer.data());
      row = buffer.data();
    } else if (bits < 8) {
      int perByte = 8 / bits, ones = (1 << bits) - 1;
      for (int64_t x = 0; !hasRuns && x < size.width; ++x)
        buffer[static_cast<size_t>(x)] = static_cast<uint8_t>(
            row[x / perByte] >> (8 - bits * (1 + x % perByte)) & ones);
      row = hasRuns ? row : buffer.data();
    }
    storeRow(row, layout, format, picture, y);
  }
}

static PictureSize readSize(std::string_view bytes, const std::string &where) {
  return Header(bytes, where).size;
}

static void decode(std::string_view bytes, const PixelFormat &format,
                   Picture &picture, const std::string &where) {
  Header(bytes, where).readPixels(format, picture);
}

const PictureCodec ingot::runtime::kBmpCodec = {readSize, decode, nullptr};
