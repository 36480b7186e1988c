// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/formats/Decode.h"

#include "runtime/data/pictures/formats/Codecs.h"

#include <algorithm>
#include <iterator>
#include <optional>

using namespace ingot::runtime;

Error ingot::runtime::badPicture(const std::string &where,
                                 const std::string &what) {
  return badInput(where, what,
                  "write the picture again, or leave it out with --skip-bad");
}

void ingot::runtime::checkSize(int64_t width, int64_t height,
                               const std::string &where) {
  if (width <= 0 || height <= 0)
    throw badPicture(where, "the picture has no pixels");
  if (width > kMostPixels / height)
    throw badPicture(where, "the picture has " + std::to_string(width) + " x " +
                                std::to_string(height) + " pixels, more than " +
                                std::to_string(kMostPixels));
}

/// Whether the bytes have a header of BMP, whose signature alone is two letters
/// that text may begin with.
static bool isBmp(std::string_view bytes) {
  constexpr size_t sizeAt = 14;
  if (!bytes.starts_with("BM") || bytes.size() < sizeAt + 4)
    return false;
  auto size = static_cast<uint8_t>(bytes[sizeAt]);
  constexpr int sizes[] = {12, 40, 52, 56, 64, 108, 124};
  return bytes.substr(sizeAt + 1, 3) == std::string_view("\0\0\0", 3) &&
         std::find(std::begin(sizes), std::end(sizes), size) != std::end(sizes);
}

/// Whether the bytes begin with `P1` to `P6` and white space.
static bool isPnm(std::string_view bytes) {
  return bytes.size() > 3 && bytes[0] == 'P' && bytes[1] >= '1' &&
         bytes[1] <= '6' &&
         (bytes[2] == ' ' || bytes[2] == '\n' || bytes[2] == '\r' ||
          bytes[2] == '\t') &&
         (bytes[3] == '#' || (bytes[3] >= '0' && bytes[3] <= '9'));
}

std::optional<PictureKind>
ingot::runtime::recognizePicture(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff"))
    return PictureKind::Jpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"))
    return PictureKind::Png;
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP"))
    return PictureKind::WebP;
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a"))
    return PictureKind::Gif;
  if (isBmp(bytes))
    return PictureKind::Bmp;
  if (isPnm(bytes))
    return PictureKind::Pnm;
  return std::nullopt;
}

bool ingot::runtime::isPicture(std::string_view bytes) {
  return recognizePicture(bytes).has_value();
}

/// Names a format of pictures that is known but not supported; else empty.
static std::string_view nameOther(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"II*\0"sv, "TIFF"},
      {"MM\0*"sv, "TIFF"},
      {"II+\0"sv, "TIFF"},
      {"8BPS"sv, "Photoshop"},
      {"\0\0\1\0"sv, "ICO"},
      {"qoif"sv, "QOI"},
      {"\xff\x0a"sv, "JPEG XL"},
      {"\0\0\0\x0cJXL "sv, "JPEG XL"},
      {"\0\0\0\x0cjP  "sv, "JPEG 2000"},
      {"<svg"sv, "SVG"}};
  for (auto [signature, name] : names)
    if (bytes.starts_with(signature))
      return name;
  if (bytes.size() >= 12 && bytes.substr(4, 4) == "ftyp")
    return bytes.substr(8, 4).starts_with("avi") ? "AVIF" : "HEIF";
  return {};
}

static const PictureCodec &findCodec(std::string_view bytes,
                                     const std::string &where) {
  std::optional<PictureKind> kind = recognizePicture(bytes);
  if (!kind) {
    constexpr const char *hint =
        "convert it to PNG, or leave it out with --skip-bad";
    if (std::string_view other = nameOther(bytes); !other.empty())
      throw badInput(
          where, "pictures in " + std::string(other) + " are not read", hint);
    throw badInput(where,
                   bytes.empty()
                       ? "the picture is empty"
                       : "no picture in JPEG, PNG, WebP, GIF, BMP or PNM",
                   hint);
  }
  if (!ingot_picture_codecs)
    throw badInput(where, "this trainer was compiled without pictures",
                   "compile a model with an input [N, 3, H, W], [N, H, W, 3] "
                   "or [N, H, W]");
  return *ingot_picture_codecs(*kind);
}

PictureSize ingot::runtime::readPictureSize(std::string_view bytes,
                                            const std::string &where) {
  return findCodec(bytes, where).readSize(bytes, where);
}

Area ingot::runtime::decodePicture(std::string_view bytes,
                                   const PixelFormat &format, const Area &area,
                                   int64_t shrink, Picture &picture,
                                   int64_t &reduced, const std::string &where) {
  const PictureCodec &codec = findCodec(bytes, where);
  if (codec.decodeArea)
    return codec.decodeArea(bytes, format, area, shrink, picture, reduced,
                            where);
  reduced = 1;
  codec.decode(bytes, format, picture, where);
  return {0, 0, picture.width, picture.height};
}
