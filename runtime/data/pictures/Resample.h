// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A part of a picture at another size.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_RESAMPLE_H
#define INGOT_RUNTIME_DATA_PICTURES_RESAMPLE_H

#include "runtime/data/pictures/Picture.h"
#include "runtime/data/pictures/PixelLoops.h"

namespace ingot::runtime {

/// How one axis of a result lies on a picture: element i is `step` pixels wide
/// and begins at `start` + i `step`.
struct AxisMap {
  double start = 0, step = 1;
  int64_t count = 0;

  /// The distance from the center of an element to the furthest pixel that it
  /// depends on, in pixels.
  double getSupport() const { return step > 1 ? step : 1; }
  /// Whether elements are pixels.
  bool isCopy() const;
};

/// Memory that is used again for the next picture.
struct ResampleScratch {
  std::vector<Tap> taps;
  std::vector<int16_t> weights;
  Picture rows;
};

/// Makes `to` of `from`, whose pixels have places in [0, width) and [0, height)
/// of the maps. Elements whose center is outside are black; the others are
/// weighted means over their width, or between neighbors where `step` is below
/// 1 (bilinear with antialiasing, as torchvision's).
void resample(const Picture &from, const AxisMap &x, const AxisMap &y,
              Picture &to, ResampleScratch &scratch);

/// Resamples by the nearest pixels, as Pillow finds them.
void resampleNearest(const Picture &from, const AxisMap &x, const AxisMap &y,
                     Picture &to);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_RESAMPLE_H
