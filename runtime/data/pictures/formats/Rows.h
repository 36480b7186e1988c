// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// From the pixels of a file to those of a picture, the same for all formats.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_FORMATS_ROWS_H
#define INGOT_RUNTIME_DATA_PICTURES_FORMATS_ROWS_H

#include "runtime/data/pictures/Picture.h"

#include <array>
#include <string>

namespace ingot::runtime {

/// Colors of indices, as red, green, blue. Those that a file leaves out are
/// black.
using Palette = std::array<std::array<uint8_t, 3>, 256>;

/// How the pixels of a row lie in memory.
struct RowLayout {
  /// The bytes from one pixel to the next, and where its samples are; these are
  /// the same for gray.
  int64_t step = 1, red = 0, green = 0, blue = 0;
  /// Whether samples are of two bytes, the higher one first.
  bool isDeep = false;
  /// The colors of bytes that are indices; else null.
  const Palette *palette = nullptr;
  /// The factor of gray values that have fewer than 256 levels.
  int scale = 1;

  bool isGray() const { return !palette && red == green && green == blue; }
};

/// Sets the size of a picture and how its pixels are stored, for rows of this
/// layout. Throws badInput where a picture in color has to be raw.
void preparePicture(int64_t width, int64_t height, const RowLayout &layout,
                    const PixelFormat &format, Picture &picture,
                    const std::string &where);

/// Converts row `y` of a prepared picture.
void storeRow(const uint8_t *row, const RowLayout &layout,
              const PixelFormat &format, Picture &picture, int64_t y);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_FORMATS_ROWS_H
