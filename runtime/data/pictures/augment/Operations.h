// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Changes of pixels for augmentation: what torchvision's functions do to
// pictures of Pillow, to the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_AUGMENT_OPERATIONS_H
#define INGOT_RUNTIME_DATA_PICTURES_AUGMENT_OPERATIONS_H

#include "runtime/data/pictures/Picture.h"

#include <array>

namespace ingot::runtime {

/// One change. All but `Affine` are of colors.
struct Operation {
  enum class Kind {
    /// By a factor, `value`; 1 changes nothing.
    Brightness,
    Contrast,
    Saturation,
    Sharpness,
    /// By a share of the circle, from -0.5 to 0.5.
    Hue,
    /// Keeps that number of bits.
    Posterize,
    /// Inverts values from a threshold on.
    Solarize,
    AutoContrast,
    Equalize,
    Gray,
    /// By a Gaussian of this deviation in a window of `size` pixels.
    Blur,
    Affine
  };
  Kind kind;
  double value = 0;
  int64_t size = 0;
  /// From places of the result to those of the picture: x is m[0] x + m[1] y +
  /// m[2], and y the same with the next three.
  std::array<double, 6> matrix{};
  /// Whether an affine change takes means of neighbors, not the nearest pixel.
  bool isBilinear = false;
  /// The color, of 0 to 255, of places outside of the picture.
  std::array<double, 3> fill{};

  bool changesColors() const { return kind != Kind::Affine; }
};

/// The affine change that rotates a picture around its center, by degrees
/// against the clock.
Operation makeRotation(double degrees, int64_t width, int64_t height);

/// Applies a change. Those of colors make deep samples bytes. `scratch` is
/// memory for it.
void apply(const Operation &operation, Picture &picture, Picture &scratch);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_AUGMENT_OPERATIONS_H
