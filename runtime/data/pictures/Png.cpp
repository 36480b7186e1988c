// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// PNG through libpng.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/Codecs.h"

#include <cstring>

#include <png.h>

using namespace ingot::runtime;

namespace {

/// A picture that libpng's simple interface reads. Errors do not jump over the
/// caller.
struct Decoder {
  Decoder(std::string_view bytes, const std::string &where) {
    std::memset(&image, 0, sizeof(image));
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()))
      throw makeError(where);
  }
  Decoder(const Decoder &) = delete;
  Decoder &operator=(const Decoder &) = delete;
  ~Decoder() { png_image_free(&image); }

  Error makeError(const std::string &where) const {
    return badPicture(where, std::string("the PNG picture is damaged: ") +
                                 image.message);
  }

  png_image image;
};

} // namespace

extern "C" {
extern const char ingot_codec_png;
const char ingot_codec_png = 1;
}

PictureSize ingot::runtime::readPngSize(std::string_view bytes,
                                        const std::string &where) {
  Decoder decoder(bytes, where);
  checkSize(decoder.image.width, decoder.image.height, where);
  return {decoder.image.width, decoder.image.height};
}

void ingot::runtime::decodePng(std::string_view bytes, bool isGray,
                               Picture &picture, const std::string &where) {
  Decoder decoder(bytes, where);
  checkSize(decoder.image.width, decoder.image.height, where);
  decoder.image.format = isGray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGBA;
  picture.width = decoder.image.width;
  picture.height = decoder.image.height;
  picture.step = isGray ? 1 : 4;
  picture.pixels.resize(PNG_IMAGE_SIZE(decoder.image));
  // Where transparency is taken away, it is over black.
  png_color black{};
  if (!png_image_finish_read(&decoder.image, &black, picture.pixels.data(), 0,
                             nullptr) ||
      decoder.image.warning_or_error & PNG_IMAGE_ERROR)
    throw decoder.makeError(where);
}
