// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/Picture.h"

#include "runtime/data/pictures/Codecs.h"

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

static bool isJpeg(std::string_view bytes) {
  return bytes.starts_with("\xff\xd8\xff");
}

static bool isPng(std::string_view bytes) {
  return bytes.starts_with("\x89PNG\r\n\x1a\n");
}

bool ingot::runtime::isPicture(std::string_view bytes) {
  return isJpeg(bytes) || isPng(bytes);
}

PictureSize ingot::runtime::readPictureSize(std::string_view bytes,
                                            const std::string &where) {
  if (isPicture(bytes) && (!readJpegSize || !readPngSize))
    throw badInput(where, "this trainer was compiled without pictures",
                   "compile a model with an input [N, 3, H, W], [N, H, W, 3] "
                   "or [N, H, W]");
  if (isJpeg(bytes))
    return readJpegSize(bytes, where);
  if (isPng(bytes))
    return readPngSize(bytes, where);
  throw badPicture(where, bytes.empty() ? "the picture is empty"
                                        : "neither a JPEG nor a PNG picture");
}

Area ingot::runtime::decodePicture(std::string_view bytes, bool isGray,
                                   const Area &area, int64_t shrink,
                                   Picture &picture, int64_t &reduced,
                                   const std::string &where) {
  if (isJpeg(bytes))
    return decodeJpeg(bytes, isGray, area, shrink, picture, reduced, where);
  reduced = 1;
  decodePng(bytes, isGray, picture, where);
  return {0, 0, picture.width, picture.height};
}
