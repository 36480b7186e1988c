// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/augment/Augment.h"

#include <algorithm>
#include <cmath>

using namespace ingot::runtime;
using Kind = Operation::Kind;

/// How often something of a random size is tried before it is left.
static constexpr int kTries = 10;

static double drawRatio(const Range &ratio, Draws &draws) {
  return std::exp(draws.uniform(std::log(ratio.low), std::log(ratio.high)));
}

Area ingot::runtime::drawArea(const AugmentSettings &settings, int64_t width,
                              int64_t height, Draws &draws) {
  auto w = static_cast<double>(width), h = static_cast<double>(height);
  for (int i = 0; i < kTries; ++i) {
    double area =
        w * h * draws.uniform(settings.scale.low, settings.scale.high);
    double ratio = drawRatio(settings.ratio, draws);
    int64_t some = std::lround(std::sqrt(area * ratio));
    int64_t rows = std::lround(std::sqrt(area / ratio));
    if (some > 0 && rows > 0 && some <= width && rows <= height)
      return {draws.below(width - some + 1), draws.below(height - rows + 1),
              some, rows};
  }
  // The largest part in the center whose sides are allowed.
  int64_t some = width, rows = height;
  if (w / h < settings.ratio.low)
    rows = std::lround(w / settings.ratio.low);
  else if (w / h > settings.ratio.high)
    some = std::lround(h * settings.ratio.high);
  some = std::clamp<int64_t>(some, 1, width);
  rows = std::clamp<int64_t>(rows, 1, height);
  return {(width - some) / 2, (height - rows) / 2, some, rows};
}

void ingot::runtime::drawJitter(const AugmentSettings &settings, Draws &draws,
                                std::vector<Operation> &operations) {
  std::pair<Kind, std::optional<Range>> changes[] = {
      {Kind::Brightness, settings.brightness},
      {Kind::Contrast, settings.contrast},
      {Kind::Saturation, settings.saturation},
      {Kind::Hue, settings.hue}};
  for (int64_t i = 3; i > 0; --i)
    std::swap(changes[i], changes[draws.below(i + 1)]);
  for (auto &[kind, range] : changes)
    if (range)
      operations.push_back({kind, draws.uniform(range->low, range->high)});
}

/// Adds how places outside of the picture and between pixels are made.
static void addSampling(const AugmentSettings &settings, Operation &operation) {
  operation.isBilinear = settings.isBilinear;
  for (size_t c = 0; c < operation.fill.size() && !settings.fill.empty(); ++c)
    operation.fill[c] = settings.fill[c % settings.fill.size()];
}

Operation ingot::runtime::drawRotation(const AugmentSettings &settings,
                                       int64_t width, int64_t height,
                                       Draws &draws) {
  Operation rotation =
      makeRotation(draws.uniform(settings.degrees.low, settings.degrees.high),
                   width, height);
  addSampling(settings, rotation);
  return rotation;
}

void ingot::runtime::drawTrivial(const AugmentSettings &settings, int64_t width,
                                 int64_t height, Draws &draws,
                                 std::vector<Operation> &operations) {
  constexpr int64_t bins = 31, kinds = 14;
  int64_t kind = draws.below(kinds);
  // A share of the largest change, of either sign.
  auto bin = static_cast<double>(draws.below(bins));
  double share = bin / (bins - 1);
  double sign = draws.happens(0.5) ? -1 : 1;
  auto move = [&](std::array<double, 6> matrix) {
    Operation moved{Kind::Affine};
    moved.matrix = matrix;
    addSampling(settings, moved);
    operations.push_back(moved);
  };
  constexpr double mostShear = 0.99, mostPixels = 32, mostDegrees = 135,
                   mostFactor = 0.99, mostValue = 255;
  double shear = sign * share * mostShear;
  double pixels = std::trunc(sign * share * mostPixels);
  double factor = 1 + sign * share * mostFactor;
  switch (kind) {
  case 0:
    break;
  case 1:
    return move({1, shear, 0, 0, 1, 0});
  case 2:
    return move({1, 0, 0, shear, 1, 0});
  case 3:
    return move({1, 0, -pixels, 0, 1, 0});
  case 4:
    return move({1, 0, 0, 0, 1, -pixels});
  case 5:
    return move(makeRotation(sign * share * mostDegrees, width, height).matrix);
  case 6:
    operations.push_back({Kind::Brightness, factor});
    break;
  case 7:
    operations.push_back({Kind::Saturation, factor});
    break;
  case 8:
    operations.push_back({Kind::Contrast, factor});
    break;
  case 9:
    operations.push_back({Kind::Sharpness, factor});
    break;
  case 10:
    // 8 to 2 bits.
    operations.push_back({Kind::Posterize, 8 - std::nearbyint(share * 6)});
    break;
  case 11:
    operations.push_back({Kind::Solarize, mostValue * (1 - share)});
    break;
  case 12:
    operations.push_back({Kind::AutoContrast});
    break;
  case 13:
    operations.push_back({Kind::Equalize});
    break;
  }
}

std::optional<ErasedPart>
ingot::runtime::drawErased(const AugmentSettings &settings, int64_t width,
                           int64_t height, Draws &draws) {
  if (!draws.happens(settings.p))
    return std::nullopt;
  double all = static_cast<double>(width) * static_cast<double>(height);
  for (int i = 0; i < kTries; ++i) {
    double area = all * draws.uniform(settings.scale.low, settings.scale.high);
    double ratio = drawRatio(settings.ratio, draws);
    int64_t rows = std::lround(std::sqrt(area * ratio));
    int64_t some = std::lround(std::sqrt(area / ratio));
    if (some <= 0 || rows <= 0 || some >= width || rows >= height)
      continue;
    ErasedPart part;
    part.area = {0, draws.below(height - rows + 1), some, rows};
    part.area.x = draws.below(width - some + 1);
    part.value = settings.value;
    part.isNoise = settings.isNoise;
    return part;
  }
  return std::nullopt;
}
