// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a picture was held: the orientation in its EXIF or XMP data.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_FORMATS_ORIENTATION_H
#define INGOT_RUNTIME_DATA_PICTURES_FORMATS_ORIENTATION_H

#include "runtime/data/pictures/Picture.h"

#include <string_view>

namespace ingot::runtime {

/// The moves that make an upright picture of a stored one: first mirroring,
/// then exchanging rows and columns.
struct Orientation {
  bool mirrorsColumns = false, mirrorsRows = false, isTransposed = false;

  bool isUpright() const {
    return !mirrorsColumns && !mirrorsRows && !isTransposed;
  }
};

/// Reads the orientation of a picture in JPEG, PNG or WebP; others are upright,
/// and so are pictures whose data make no sense.
Orientation readOrientation(std::string_view bytes);

/// Makes `to` of a stored picture, upright.
void turn(const Picture &from, const Orientation &orientation, Picture &to);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_FORMATS_ORIENTATION_H
