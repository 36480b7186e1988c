// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The formats behind Picture.h. Programs link them by name
// (-u ingot_picture_codecs): trainers of models without pictures do without,
// and that function is null there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_FORMATS_CODECS_H
#define INGOT_RUNTIME_DATA_PICTURES_FORMATS_CODECS_H

#include "runtime/data/pictures/Picture.h"

#include "runtime/core/Error.h"

#include <optional>

namespace ingot::runtime {

enum class PictureKind { Jpeg, Png, WebP, Gif, Bmp, Pnm };

/// Returns the format that the bytes begin like.
std::optional<PictureKind> recognizePicture(std::string_view bytes);

/// The functions that read a format.
struct PictureCodec {
  PictureSize (*readSize)(std::string_view bytes, const std::string &where);
  /// Decodes all of a picture; null if `decodeArea` is there.
  void (*decode)(std::string_view bytes, const PixelFormat &format,
                 Picture &picture, const std::string &where);
  /// Decodes a part of a picture; null if the format cannot be decoded in part.
  Area (*decodeArea)(std::string_view bytes, const PixelFormat &format,
                     const Area &area, int64_t shrink, Picture &picture,
                     int64_t &reduced, const std::string &where);
};

extern const PictureCodec kJpegCodec, kPngCodec, kWebPCodec, kGifCodec,
    kBmpCodec, kPnmCodec;

/// Returns the error of a picture.
Error badPicture(const std::string &where, const std::string &what);
/// Throws unless a picture has a size that is allowed.
void checkSize(int64_t width, int64_t height, const std::string &where);

extern "C" {
/// Returns what reads a format.
__attribute__((weak)) const PictureCodec *
ingot_picture_codecs(ingot::runtime::PictureKind kind);
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_FORMATS_CODECS_H
