// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Decodes pictures in JPEG, PNG, WebP, GIF, BMP and PNM. The codecs (Codecs.h)
// decode; here is what bounds them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_FORMATS_DECODE_H
#define INGOT_RUNTIME_DATA_PICTURES_FORMATS_DECODE_H

#include "runtime/data/pictures/Picture.h"

#include <string>
#include <string_view>

namespace ingot::runtime {

/// Whether the bytes begin like a picture that is supported.
bool isPicture(std::string_view bytes);

/// Reads the size of a picture. Throws badInput naming `where`.
PictureSize readPictureSize(std::string_view bytes, const std::string &where);

/// Decodes at least `area` of a picture, of which animations have the first
/// frame, into `picture`. Returns the area it holds, in the pixels of the whole
/// picture, which may have been reduced: by 2, 4 or 8 to no less than `shrink`
/// says (1: not at all). `reduced` is set to that number. Throws badInput
/// naming `where`.
Area decodePicture(std::string_view bytes, const PixelFormat &format,
                   const Area &area, int64_t shrink, Picture &picture,
                   int64_t &reduced, const std::string &where);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_FORMATS_DECODE_H
