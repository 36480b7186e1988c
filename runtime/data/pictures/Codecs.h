// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The two formats behind Picture.h. Programs link them by name (-u
// ingot_codec_jpeg, -u ingot_codec_png): trainers of models without pictures do
// without, and these functions are null there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_CODECS_H
#define INGOT_RUNTIME_DATA_PICTURES_CODECS_H

#include "runtime/data/pictures/Picture.h"

#include "runtime/core/Error.h"

namespace ingot::runtime {

/// Returns the error of a picture.
Error badPicture(const std::string &where, const std::string &what);
/// Throws unless a picture has a size that is allowed.
void checkSize(int64_t width, int64_t height, const std::string &where);

#define INGOT_CODEC __attribute__((weak))

INGOT_CODEC PictureSize readJpegSize(std::string_view bytes,
                                     const std::string &where);
/// As decodePicture.
INGOT_CODEC Area decodeJpeg(std::string_view bytes, bool isGray,
                            const Area &area, int64_t shrink, Picture &picture,
                            int64_t &reduced, const std::string &where);

INGOT_CODEC PictureSize readPngSize(std::string_view bytes,
                                    const std::string &where);
/// Decodes all of a picture.
INGOT_CODEC void decodePng(std::string_view bytes, bool isGray,
                           Picture &picture, const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_CODECS_H
