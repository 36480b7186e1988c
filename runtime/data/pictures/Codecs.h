// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The two formats behind Picture.h.
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

PictureSize readJpegSize(std::string_view bytes, const std::string &where);
/// As decodePicture.
Area decodeJpeg(std::string_view bytes, bool isGray, const Area &area,
                int64_t shrink, Picture &picture, int64_t &reduced,
                const std::string &where);

PictureSize readPngSize(std::string_view bytes, const std::string &where);
/// Decodes all of a picture.
void decodePng(std::string_view bytes, bool isGray, Picture &picture,
               const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_CODECS_H
