// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Pictures in memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_PICTURE_H
#define INGOT_RUNTIME_DATA_PICTURES_PICTURE_H

#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// A picture, row after row, of samples of a byte, or of deep ones, which are
/// of two bytes in the order of the machine.
struct Picture {
  int64_t width = 0, height = 0;
  /// The bytes from one pixel to the next: 1 for gray, 4 for color, of which
  /// the last sample is not used; twice as many if samples are deep.
  int64_t step = 4;
  std::vector<uint8_t> pixels;

  bool isDeep() const { return step == 2 || step == 8; }
  bool isGray() const { return step <= 2; }
  const uint8_t *getRow(int64_t y) const {
    return pixels.data() + y * width * step;
  }
};

/// A range of pixels.
struct Area {
  int64_t x = 0, y = 0, width = 0, height = 0;
};

struct PictureSize {
  int64_t width = 0, height = 0;
};

/// The format that pixels are decoded to. Conversions are Pillow's: alpha is
/// dropped, and gray is 0.299 red + 0.587 green + 0.114 blue.
struct PixelFormat {
  bool isGray = false;
  /// Whether samples of 16 bits stay deep; else the higher byte is taken.
  bool isDeep = false;
  /// Whether gray values are those of the file: of palettes the indices, of
  /// fewer than 8 bits not scaled. A picture in color is an error then.
  bool isRaw = false;
};

/// The fields that pictures have unless a recipe says otherwise.
inline constexpr const char *kPictureFields[] = {"image", "img",  "jpg", "jpeg",
                                                 "png",   "webp", "gif", "bmp",
                                                 "ppm",   "pgm",  "pbm"};

/// The most pixels of a picture: what Pillow warns from.
inline constexpr int64_t kMostPixels = 89478485;

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_PICTURE_H
