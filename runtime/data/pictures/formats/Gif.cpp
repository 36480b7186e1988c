// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// GIF through giflib: the first frame, on the canvas of the whole picture.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/formats/Codecs.h"
#include "runtime/data/pictures/formats/Rows.h"

#include <algorithm>
#include <cstring>

#include <gif_lib.h>

using namespace ingot::runtime;

namespace {

/// A file up to the pixels of its first frame.
class Decoder {
public:
  Decoder(std::string_view bytes, const std::string &where)
      : bytes(bytes), where(where) {
    int error = 0;
    file = DGifOpen(this, readBytes, &error);
    if (!file)
      throw makeError(error);
  }
  Decoder(const Decoder &) = delete;
  Decoder &operator=(const Decoder &) = delete;
  ~Decoder() { DGifCloseFile(file, nullptr); }

  /// Goes to the first frame. Returns the size of the canvas, which frames that
  /// are larger extend.
  PictureSize findFrame();
  /// The color of the canvas around the frame, an index.
  int getBackground() const { return background; }
  const GifImageDesc &getFrame() const { return file->Image; }
  void readColors(Palette &palette) const;
  /// Reads the next `count` indices.
  void readRow(uint8_t *to, int64_t count) {
    if (DGifGetLine(file, to, static_cast<int>(count)) != GIF_OK)
      throw makeError(file->Error);
  }

private:
  static int readBytes(GifFileType *file, GifByteType *to, int count) {
    auto &bytes = static_cast<Decoder *>(file->UserData)->bytes;
    size_t some = std::min(bytes.size(), static_cast<size_t>(count));
    std::memcpy(to, bytes.data(), some);
    bytes.remove_prefix(some);
    return static_cast<int>(some);
  }
  Error makeError(int code) const {
    const char *text = GifErrorString(code);
    return badPicture(where, std::string("the GIF picture is damaged: ") +
                                 (text ? text : "it is truncated"));
  }
  void skipExtension();

  std::string_view bytes;
  const std::string &where;
  GifFileType *file = nullptr;
  int background = 0;
};

} // namespace

void Decoder::skipExtension() {
  int code = 0;
  GifByteType *block = nullptr;
  int state = DGifGetExtension(file, &code, &block);
  // The first byte of a block is its length.
  constexpr int least = 4, flagsAt = 1, colorAt = 4;
  if (state == GIF_OK && code == GRAPHICS_EXT_FUNC_CODE && block &&
      block[0] >= least && (block[flagsAt] & 1))
    background = block[colorAt];
  while (state == GIF_OK && block)
    state = DGifGetExtensionNext(file, &block);
  if (state != GIF_OK)
    throw makeError(file->Error);
}

PictureSize Decoder::findFrame() {
  for (;;) {
    GifRecordType record;
    if (DGifGetRecordType(file, &record) != GIF_OK)
      throw makeError(file->Error);
    if (record == TERMINATE_RECORD_TYPE)
      throw badPicture(where, "the GIF picture has no frame");
    if (record == EXTENSION_RECORD_TYPE)
      skipExtension();
    if (record == IMAGE_DESC_RECORD_TYPE)
      break;
  }
  if (DGifGetImageDesc(file) != GIF_OK)
    throw makeError(file->Error);
  const GifImageDesc &frame = getFrame();
  PictureSize size{std::max(file->SWidth, frame.Left + frame.Width),
                   std::max(file->SHeight, frame.Top + frame.Height)};
  checkSize(size.width, size.height, where);
  return size;
}

void Decoder::readColors(Palette &palette) const {
  const ColorMapObject *colors =
      file->Image.ColorMap ? file->Image.ColorMap : file->SColorMap;
  for (size_t i = 0; i < palette.size(); ++i) {
    auto gray = static_cast<uint8_t>(i);
    // Without colors, indices are gray values.
    if (!colors)
      palette[i] = {gray, gray, gray};
    else if (static_cast<int>(i) < colors->ColorCount)
      palette[i] = {colors->Colors[i].Red, colors->Colors[i].Green,
                    colors->Colors[i].Blue};
  }
}

static PictureSize readSize(std::string_view bytes, const std::string &where) {
  return Decoder(bytes, where).findFrame();
}

static void decode(std::string_view bytes, const PixelFormat &format,
                   Picture &picture, const std::string &where) {
  Decoder decoder(bytes, where);
  PictureSize size = decoder.findFrame();
  Palette palette{};
  decoder.readColors(palette);
  RowLayout layout;
  layout.palette = &palette;
  preparePicture(size.width, size.height, layout, format, picture, where);
  std::vector<uint8_t> empty(static_cast<size_t>(size.width),
                             static_cast<uint8_t>(decoder.getBackground()));
  std::vector<uint8_t> row = empty;
  const GifImageDesc &frame = decoder.getFrame();
  for (int64_t y = 0; y < size.height; ++y)
    if (y < frame.Top || y >= frame.Top + frame.Height)
      storeRow(empty.data(), layout, format, picture, y);
  // Rows of interlaced pictures come in four passes.
  struct Pass {
    int first, step;
  };
  constexpr Pass interlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  constexpr Pass whole[] = {{0, 1}};
  const Pass *pass = frame.Interlace ? interlaced : whole;
  const Pass *end = pass + (frame.Interlace ? 4 : 1);
  for (; pass != end; ++pass)
    for (int y = pass->first; y < frame.Height; y += pass->step) {
      decoder.readRow(row.data() + frame.Left, frame.Width);
      storeRow(row.data(), layout, format, picture, frame.Top + y);
    }
}

const PictureCodec ingot::runtime::kGifCodec = {readSize, decode, nullptr};
