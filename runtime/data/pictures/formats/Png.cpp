// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// PNG through libpng, whose samples are taken as they are: the file's gamma and
// profile change nothing, as in all programs that read pictures for training.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/formats/Codecs.h"
#include "runtime/data/pictures/formats/Rows.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>

using namespace ingot::runtime;

namespace {

/// The library's errors come back here by longjmp: functions that call it hold
/// nothing that has a destructor.
struct Decoder {
  explicit Decoder(std::string_view bytes) : bytes(bytes) {}
  Decoder(const Decoder &) = delete;
  Decoder &operator=(const Decoder &) = delete;
  ~Decoder() {
    if (png)
      png_destroy_read_struct(&png, &info, nullptr);
  }

  std::string_view bytes;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf escape;
  char message[160] = "";
};

} // namespace

static void fail(png_structp png, png_const_charp message) {
  auto &decoder = *static_cast<Decoder *>(png_get_error_ptr(png));
  std::snprintf(decoder.message, sizeof(decoder.message), "%s", message);
  std::longjmp(decoder.escape, 1);
}

static void ignoreWarning(png_structp png, png_const_charp message) {}

static void readBytes(png_structp png, png_bytep to, size_t size) {
  auto &bytes = static_cast<Decoder *>(png_get_io_ptr(png))->bytes;
  if (size > bytes.size())
    png_error(png, "the file is truncated");
  std::memcpy(to, bytes.data(), size);
  bytes.remove_prefix(size);
}

/// Reads everything before the pixels. Returns whether that succeeded.
static bool readHeader(Decoder &decoder) {
  if (setjmp(decoder.escape))
    return false;
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, fail,
                                       ignoreWarning);
  if (decoder.png)
    decoder.info = png_create_info_struct(decoder.png);
  if (!decoder.info) {
    std::snprintf(decoder.message, sizeof(decoder.message), "out of memory");
    return false;
  }
  // Profiles, texts and what else changes no sample is not even looked at.
  png_set_keep_unknown_chunks(decoder.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_read_fn(decoder.png, &decoder, readBytes);
  png_read_info(decoder.png, decoder.info);
  return true;
}

/// Prepares for rows of whole bytes, and says how many times they come and how
/// long they are. Returns whether that succeeded.
static bool startRows(Decoder &decoder, int *passes, size_t *rowBytes) {
  if (setjmp(decoder.escape))
    return false;
  png_set_packing(decoder.png);
  *passes = png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  *rowBytes = png_get_rowbytes(decoder.png, decoder.info);
  return true;
}

/// Reads a row, or what a pass has of it. Returns whether that succeeded.
static bool readRow(Decoder &decoder, uint8_t *to) {
  if (setjmp(decoder.escape))
    return false;
  png_read_row(decoder.png, to, nullptr);
  return true;
}

static Error makeError(const Decoder &decoder, const std::string &where) {
  return badPicture(where, std::string("the PNG picture is damaged: ") +
                               decoder.message);
}

/// Reads the header and checks the size.
static PictureSize openPicture(Decoder &decoder, const std::string &where) {
  if (!readHeader(decoder))
    throw makeError(decoder, where);
  PictureSize size{png_get_image_width(decoder.png, decoder.info),
                   png_get_image_height(decoder.png, decoder.info)};
  checkSize(size.width, size.height, where);
  return size;
}

static PictureSize readSize(std::string_view bytes, const std::string &where) {
  Decoder decoder(bytes);
  return openPicture(decoder, where);
}

/// Returns how the pixels of a row lie, with the colors of indices in
/// `palette`.
static RowLayout getLayout(const Decoder &decoder, Palette &palette) {
  int depth = png_get_bit_depth(decoder.png, decoder.info);
  int channels = png_get_channels(decoder.png, decoder.info);
  int bytes = depth == 16 ? 2 : 1;
  RowLayout layout;
  layout.step = static_cast<int64_t>(channels) * bytes;
  layout.isDeep = depth == 16;
  int kind = png_get_color_type(decoder.png, decoder.info);
  if (kind == PNG_COLOR_TYPE_PALETTE) {
    png_colorp colors = nullptr;
    int count = 0;
    png_get_PLTE(decoder.png, decoder.info, &colors, &count);
    for (int i = 0; i < count; ++i)
      palette[static_cast<size_t>(i)] = {colors[i].red, colors[i].green,
                                         colors[i].blue};
    layout.palette = &palette;
  } else if (kind & PNG_COLOR_MASK_COLOR) {
    layout.green = bytes;
    layout.blue = static_cast<int64_t>(2) * bytes;
  } else if (depth < 8) {
    layout.scale = 255 / ((1 << depth) - 1);
  }
  return layout;
}

static void decode(std::string_view bytes, const PixelFormat &format,
                   Picture &picture, const std::string &where) {
  Decoder decoder(bytes);
  PictureSize size = openPicture(decoder, where);
  Palette palette{};
  // Before the rows are unpacked: that changes the depth.
  RowLayout layout = getLayout(decoder, palette);
  preparePicture(size.width, size.height, layout, format, picture, where);
  int passes;
  size_t rowBytes;
  if (!startRows(decoder, &passes, &rowBytes))
    throw makeError(decoder, where);
  // Interlaced pictures come in passes over all rows.
  bool isInterlaced = passes > 1;
  std::vector<uint8_t> rows(
      rowBytes * (isInterlaced ? static_cast<size_t>(size.height) : 1));
  for (int pass = 0; pass < passes; ++pass)
    for (int64_t y = 0; y < size.height; ++y) {
      uint8_t *row =
          rows.data() + (isInterlaced ? static_cast<size_t>(y) * rowBytes : 0);
      if (!readRow(decoder, row))
        throw makeError(decoder, where);
      if (pass + 1 == passes)
        storeRow(row, layout, format, picture, y);
    }
}

const PictureCodec ingot::runtime::kPngCodec = {readSize, decode, nullptr};
