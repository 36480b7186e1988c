// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The random steps of recipes: their settings, with torchvision's names and
// defaults, and what is drawn for a picture.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_AUGMENT_AUGMENT_H
#define INGOT_RUNTIME_DATA_PICTURES_AUGMENT_AUGMENT_H

#include "runtime/data/pictures/augment/Draws.h"
#include "runtime/data/pictures/augment/Operations.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Two numbers that something is drawn between.
struct Range {
  double low = 0, high = 0;
};

/// The settings of a random step; a step has some of them.
struct AugmentSettings {
  /// The probability.
  double p = 0.5;
  /// The share of the picture's area, and width by height or, of erased parts,
  /// height by width.
  Range scale, ratio;
  /// Factors, and shares of the circle of hues.
  std::optional<Range> brightness, contrast, saturation, hue;
  Range degrees;
  /// The deviation and the window of a blur.
  Range sigma{0.1, 2};
  int64_t kernel = 0;
  bool isBilinear = false;
  /// A value for each color, or one for all.
  std::vector<double> fill, value;
  /// Whether values are drawn from the normal distribution.
  bool isNoise = false;

  /// Reads the words after a step's name, `0.5` or `scale=0.1/1`. `allowed`
  /// are the names of the settings that it has; `first` is the one of a word
  /// without a name, or null. Returns what is wrong, or an empty text.
  std::string parse(const std::vector<std::string> &words,
                    const std::vector<std::string> &allowed, const char *first);
};

/// A part of a result that gets other values.
struct ErasedPart {
  Area area;
  /// The fill value, in the units of the input's elements before or after they
  /// are normalized.
  std::vector<double> value;
  bool isNoise = false, isNormalized = false;
};

/// Draws the part of a picture that `random-resized-crop` takes.
Area drawArea(const AugmentSettings &settings, int64_t width, int64_t height,
              Draws &draws);
/// Draws what `color-jitter` does, in random order.
void drawJitter(const AugmentSettings &settings, Draws &draws,
                std::vector<Operation> &operations);
/// Draws the rotation of `random-rotation`.
Operation drawRotation(const AugmentSettings &settings, int64_t width,
                       int64_t height, Draws &draws);
/// Draws the one of fourteen operations that `trivial-augment` does.
void drawTrivial(const AugmentSettings &settings, int64_t width, int64_t height,
                 Draws &draws, std::vector<Operation> &operations);
/// Draws the part that `random-erasing` takes of a picture, if it does.
std::optional<ErasedPart> drawErased(const AugmentSettings &settings,
                                     int64_t width, int64_t height,
                                     Draws &draws);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_AUGMENT_AUGMENT_H
