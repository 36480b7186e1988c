// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/formats/Orientation.h"

#include "runtime/data/pictures/formats/Codecs.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace std::string_view_literals;

namespace {

/// The parts of a file that may hold the orientation.
struct Metadata {
  std::string_view exif, xmp;
};

} // namespace

/// Reads a number of `size` bytes; 0 beyond the end.
static uint32_t readNumber(std::string_view bytes, size_t at, size_t size,
                           bool isBigEndian) {
  if (at > bytes.size() || bytes.size() - at < size)
    return 0;
  uint32_t number = 0;
  for (size_t i = 0; i < size; ++i)
    number = number << 8 |
             static_cast<uint8_t>(bytes[at + (isBigEndian ? i : size - 1 - i)]);
  return number;
}

static Metadata findInJpeg(std::string_view bytes) {
  constexpr auto exif = "Exif\0\0"sv, xmp = "http://ns.adobe.com/xap/1.0/\0"sv;
  constexpr uint8_t startOfScan = 0xda, application1 = 0xe1;
  Metadata found;
  size_t at = 2;
  while (at + 4 <= bytes.size() && static_cast<uint8_t>(bytes[at]) == 0xff) {
    auto marker = static_cast<uint8_t>(bytes[at + 1]);
    // Fill bytes come before a marker.
    if (marker == 0xff) {
      ++at;
      continue;
    }
    size_t size = readNumber(bytes, at + 2, 2, /*isBigEndian=*/true);
    if (marker == startOfScan || size < 2)
      break;
    std::string_view segment = bytes.substr(at + 4, size - 2);
    if (marker == application1 && segment.starts_with(exif) &&
        found.exif.empty())
      found.exif = segment.substr(exif.size());
    if (marker == application1 && segment.starts_with(xmp))
      found.xmp = segment.substr(xmp.size());
    at += 2 + size;
  }
  return found;
}

static Metadata findInPng(std::string_view bytes) {
  constexpr auto keyword = "XML:com.adobe.xmp\0\0"sv;
  constexpr size_t signature = 8, around = 12;
  Metadata found;
  for (size_t at = signature; at + around <= bytes.size();) {
    size_t size = readNumber(bytes, at, 4, /*isBigEndian=*/true);
    std::string_view kind = bytes.substr(at + 4, 4);
    std::string_view content = bytes.substr(at + 8, size);
    if (kind == "eXIf")
      found.exif = content;
    else if (kind == "iTXt" && content.starts_with(keyword))
      found.xmp = content;
    else if (kind == "IEND")
      break;
    at += size + around;
  }
  return found;
}

static Metadata findInWebP(std::string_view bytes) {
  constexpr size_t first = 12, header = 8;
  Metadata found;
  for (size_t at = first; at + header <= bytes.size();) {
    size_t size = readNumber(bytes, at + 4, 4, /*isBigEndian=*/false);
    std::string_view kind = bytes.substr(at, 4);
    std::string_view content = bytes.substr(at + header, size);
    if (kind == "EXIF")
      found.exif =
          content.starts_with("Exif\0\0"sv) ? content.substr(6) : content;
    else if (kind == "XMP ")
      found.xmp = content;
    at += header + size + size % 2;
  }
  return found;
}

/// Reads the orientation in EXIF, which is a file of TIFF; 0 if there is none.
static uint32_t readExif(std::string_view exif) {
  bool isBig = exif.starts_with("MM\0*"sv);
  if (!isBig && !exif.starts_with("II*\0"sv))
    return 0;
  constexpr uint32_t orientation = 0x112, shortType = 3, entryBytes = 12;
  size_t at = readNumber(exif, 4, 4, isBig);
  uint32_t entries = readNumber(exif, at, 2, isBig);
  for (at += 2; entries-- != 0 && at < exif.size(); at += entryBytes)
    if (readNumber(exif, at, 2, isBig) == orientation)
      return readNumber(exif, at + 8,
                        readNumber(exif, at + 2, 2, isBig) == shortType ? 2 : 4,
                        isBig);
  return 0;
}

/// Reads the orientation in XMP, an element or an attribute; 0 if there is
/// none.
static uint32_t readXmp(std::string_view xmp) {
  constexpr auto name = "tiff:Orientation"sv;
  for (size_t at = 0; (at = xmp.find(name, at)) != std::string_view::npos;) {
    at += name.size();
    std::string_view rest = xmp.substr(at, 3);
    size_t digit = rest.starts_with("=\"") ? 2 : rest.starts_with(">") ? 1 : 0;
    if (digit != 0 && digit < rest.size() && rest[digit] >= '0' &&
        rest[digit] <= '9')
      return static_cast<uint32_t>(rest[digit] - '0');
  }
  return 0;
}

Orientation ingot::runtime::readOrientation(std::string_view bytes) {
  std::optional<PictureKind> kind = recognizePicture(bytes);
  Metadata found;
  if (kind == PictureKind::Jpeg)
    found = findInJpeg(bytes);
  else if (kind == PictureKind::Png)
    found = findInPng(bytes);
  else if (kind == PictureKind::WebP)
    found = findInWebP(bytes);
  uint32_t number = readExif(found.exif);
  if (number == 0)
    number = readXmp(found.xmp);
  if (number > 8)
    return {};
  auto isOneOf = [&](std::initializer_list<uint32_t> numbers) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
  };
  return {isOneOf({2, 3, 7, 8}), isOneOf({3, 4, 6, 7}), number >= 5};
}

template <typename Pixel>
static void turnPixels(const Picture &from, const Orientation &orientation,
                       Picture &to) {
  auto *pixels = reinterpret_cast<const Pixel *>(from.pixels.data());
  auto *made = reinterpret_cast<Pixel *>(to.pixels.data());
  // Blocks of columns, so that rows of both stay in the cache.
  constexpr int64_t block = 32;
  for (int64_t left = 0; left < to.width; left += block)
    for (int64_t y = 0; y < to.height; ++y)
      for (int64_t x = left; x < std::min(left + block, to.width); ++x) {
        int64_t column = orientation.isTransposed ? y : x;
        int64_t row = orientation.isTransposed ? x : y;
        if (orientation.mirrorsColumns)
          column = from.width - 1 - column;
        if (orientation.mirrorsRows)
          row = from.height - 1 - row;
        made[y * to.width + x] = pixels[row * from.width + column];
      }
}

void ingot::runtime::turn(const Picture &from, const Orientation &orientation,
                          Picture &to) {
  to.width = orientation.isTransposed ? from.height : from.width;
  to.height = orientation.isTransposed ? from.width : from.height;
  to.step = from.step;
  to.pixels.resize(from.pixels.size());
  switch (from.step) {
  case 1:
    return turnPixels<uint8_t>(from, orientation, to);
  case 2:
    return turnPixels<uint16_t>(from, orientation, to);
  case 4:
    return turnPixels<uint32_t>(from, orientation, to);
  default:
    return turnPixels<uint64_t>(from, orientation, to);
  }
}
