// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/augment/Operations.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

using namespace ingot::runtime;

/// Pillow's weights of colors in gray.
static uint8_t getGray(const uint8_t *color) {
  return static_cast<uint8_t>(
      (color[0] * 19595 + color[1] * 38470 + color[2] * 7471 + 0x8000) >> 16);
}

/// Makes bytes of deep samples.
static void dropDepth(Picture &picture) {
  if (!picture.isDeep())
    return;
  auto *deep = reinterpret_cast<const uint16_t *>(picture.pixels.data());
  size_t count = picture.pixels.size() / 2;
  for (size_t i = 0; i < count; ++i)
    picture.pixels[i] = static_cast<uint8_t>(deep[i] >> 8);
  picture.step /= 2;
  picture.pixels.resize(count);
}

/// Calls `change` with the colors of each pixel.
template <typename Function>
static void forEachPixel(Picture &picture, Function change) {
  uint8_t *end = picture.pixels.data() + picture.pixels.size();
  for (uint8_t *at = picture.pixels.data(); at != end; at += picture.step)
    change(at);
}

static int64_t countColors(const Picture &picture) {
  return picture.isGray() ? 1 : 3;
}

/// A value between two others, or beyond them, as Pillow blends.
static uint8_t blend(uint8_t from, uint8_t to, float factor) {
  float value = static_cast<float>(from) +
                factor * static_cast<float>(int(to) - int(from));
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

/// Blends each color with what `getOther` makes of its pixel.
template <typename Function>
static void blendAll(Picture &picture, double factor, Function getOther) {
  int64_t colors = countColors(picture);
  auto share = static_cast<float>(factor);
  forEachPixel(picture, [&](uint8_t *pixel) {
    uint8_t other = getOther(pixel);
    for (int64_t c = 0; c < colors; ++c)
      pixel[c] = blend(other, pixel[c], share);
  });
}

static uint8_t getMeanGray(Picture &picture) {
  uint64_t sum = 0, count = 0;
  bool isGray = picture.isGray();
  forEachPixel(picture, [&](uint8_t *pixel) {
    sum += isGray ? *pixel : getGray(pixel);
    ++count;
  });
  return static_cast<uint8_t>(
      static_cast<double>(sum) / static_cast<double>(count) + 0.5);
}

/// Hue, saturation and value, as Pillow computes them.
static void makeHsv(const uint8_t *color, uint8_t *hsv) {
  auto [least, most] = std::minmax({color[0], color[1], color[2]});
  hsv[0] = hsv[1] = 0;
  hsv[2] = most;
  if (least == most)
    return;
  auto range = static_cast<float>(most - least);
  float away[3], hue;
  for (int c = 0; c < 3; ++c)
    away[c] = static_cast<float>(most - color[c]) / range;
  if (color[0] == most)
    hue = away[2] - away[1];
  else if (color[1] == most)
    hue = static_cast<float>(2.0 + away[0] - away[2]);
  else
    hue = static_cast<float>(4.0 + away[1] - away[0]);
  hue = static_cast<float>(std::fmod(hue / 6.0 + 1.0, 1.0));
  float saturation = range / static_cast<float>(most);
  hsv[0] = static_cast<uint8_t>(hue * 255.0);
  hsv[1] = static_cast<uint8_t>(saturation * 255.0);
}

static void makeColor(const uint8_t *hsv, uint8_t *color) {
  uint8_t value = hsv[2];
  if (hsv[1] == 0) {
    color[0] = color[1] = color[2] = value;
    return;
  }
  auto whole = static_cast<float>(hsv[0] * 6.0 / 255.0);
  auto sector = static_cast<int>(std::floor(whole));
  float rest = whole - static_cast<float>(sector);
  auto saturation = static_cast<float>(hsv[1] / 255.0);
  auto scale = [&](double share) {
    return static_cast<uint8_t>(
        std::clamp(std::round(value * (1.0 - saturation * share)), 0.0, 255.0));
  };
  uint8_t p = scale(1), q = scale(rest), t = scale(1.0 - rest);
  const uint8_t colors[6][3] = {{value, t, p}, {q, value, p}, {p, value, t},
                                {p, q, value}, {t, p, value}, {value, p, q}};
  std::copy_n(colors[sector % 6], 3, color);
}

static void shiftHue(Picture &picture, double share) {
  if (picture.isGray())
    return;
  auto shift = static_cast<uint8_t>(static_cast<int>(share * 255));
  forEachPixel(picture, [&](uint8_t *pixel) {
    uint8_t hsv[3];
    makeHsv(pixel, hsv);
    hsv[0] = static_cast<uint8_t>(hsv[0] + shift);
    makeColor(hsv, pixel);
  });
}

/// Blends with a smoothed picture, which at the border is the picture.
static void sharpen(Picture &picture, double factor, Picture &scratch) {
  scratch = picture;
  int64_t width = picture.width, step = picture.step;
  int64_t colors = countColors(picture);
  constexpr float center = 5, sum = 13;
  for (int64_t y = 1; y + 1 < picture.height; ++y)
    for (int64_t x = 1; x + 1 < width; ++x)
      for (int64_t c = 0; c < colors; ++c) {
        const uint8_t *at = scratch.getRow(y) + x * step + c;
        int around = 0;
        for (int64_t row = -1; row <= 1; ++row)
          for (int64_t column = -1; column <= 1; ++column)
            around += at[(row * width + column) * step];
        auto smooth = static_cast<uint8_t>(
            (static_cast<float>(around) + (center - 1) * *at) / sum + 0.5f);
        picture.pixels[static_cast<size_t>((y * width + x) * step + c)] =
            blend(smooth, *at, static_cast<float>(factor));
      }
}

/// Replaces the values of each color by those of the table that `makeTable`
/// fills, from how often values are there.
template <typename Function>
static void mapColors(Picture &picture, Function makeTable) {
  for (int64_t c = 0; c < countColors(picture); ++c) {
    std::array<int64_t, 256> counts{};
    forEachPixel(picture, [&](uint8_t *pixel) { ++counts[pixel[c]]; });
    std::array<uint8_t, 256> table;
    std::iota(table.begin(), table.end(), 0);
    makeTable(counts, table);
    forEachPixel(picture, [&](uint8_t *pixel) { pixel[c] = table[pixel[c]]; });
  }
}

static void stretch(const std::array<int64_t, 256> &counts,
                    std::array<uint8_t, 256> &table) {
  int low = 0, high = 255;
  while (low < 255 && counts[static_cast<size_t>(low)] == 0)
    ++low;
  while (high > 0 && counts[static_cast<size_t>(high)] == 0)
    --high;
  if (high <= low)
    return;
  double scale = 255.0 / (high - low), offset = -low * scale;
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<uint8_t>(std::clamp(
        static_cast<int>(static_cast<double>(i) * scale + offset), 0, 255));
}

static void equalize(const std::array<int64_t, 256> &counts,
                     std::array<uint8_t, 256> &table) {
  int64_t sum = 0, last = 0;
  for (int64_t count : counts) {
    sum += count;
    last = count != 0 ? count : last;
  }
  int64_t step = (sum - last) / 255;
  if (step == 0)
    return;
  int64_t before = step / 2;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<uint8_t>(std::min<int64_t>(before / step, 255));
    before += counts[i];
  }
}

/// Returns the pixel of a side of `count` that one beyond it is a reflection
/// of.
static int64_t reflect(int64_t at, int64_t count) {
  if (count == 1)
    return 0;
  int64_t period = 2 * (count - 1);
  at = (at % period + period) % period;
  return at < count ? at : period - at;
}

static void blur(Picture &picture, int64_t size, double deviation) {
  int64_t half = size / 2, width = picture.width, height = picture.height;
  std::vector<float> kernel(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    double away = static_cast<double>(i - half) / deviation;
    kernel[static_cast<size_t>(i)] =
        static_cast<float>(std::exp(-0.5 * away * away));
  }
  float sum = std::accumulate(kernel.begin(), kernel.end(), 0.0f);
  for (float &weight : kernel)
    weight /= sum;
  std::vector<float> rows(static_cast<size_t>(width * height));
  for (int64_t c = 0; c < countColors(picture); ++c) {
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        float value = 0;
        for (int64_t i = 0; i < size; ++i)
          value += kernel[static_cast<size_t>(i)] *
                   picture.getRow(
                       y)[reflect(x + i - half, width) * picture.step + c];
        rows[static_cast<size_t>(y * width + x)] = value;
      }
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        float value = 0;
        for (int64_t i = 0; i < size; ++i)
          value += kernel[static_cast<size_t>(i)] *
                   rows[static_cast<size_t>(
                       reflect(y + i - half, height) * width + x)];
        picture
            .pixels[static_cast<size_t>((y * width + x) * picture.step + c)] =
            static_cast<uint8_t>(
                std::clamp(std::nearbyint(value), 0.0f, 255.0f));
      }
  }
}

Operation ingot::runtime::makeRotation(double degrees, int64_t width,
                                       int64_t height) {
  // Quarters of a circle are exact.
  auto round = [](double value) { return std::round(value * 1e15) / 1e15; };
  double angle = -degrees * std::numbers::pi / 180;
  double cosine = round(std::cos(angle)), sine = round(std::sin(angle));
  double x = static_cast<double>(width) / 2,
         y = static_cast<double>(height) / 2;
  Operation rotation{Operation::Kind::Affine};
  rotation.matrix = {cosine, sine,   x - cosine * x - sine * y,
                     -sine,  cosine, y + sine * x - cosine * y};
  return rotation;
}

/// Copies the nearest pixels. Places are numbers of 16 bits behind the point,
/// as Pillow's.
template <typename Sample, int64_t Count, int64_t Step>
static void moveNearest(const Picture &from, const Operation &operation,
                        Picture &to) {
  auto *pixels = reinterpret_cast<const Sample *>(from.pixels.data());
  auto *made = reinterpret_cast<Sample *>(to.pixels.data());
  const std::array<double, 6> &m = operation.matrix;
  auto fix = [](double value) {
    return static_cast<int64_t>(std::floor(value * 65536 + 0.5));
  };
  int64_t left = fix(m[2] + m[0] * 0.5 + m[1] * 0.5);
  int64_t top = fix(m[5] + m[3] * 0.5 + m[4] * 0.5);
  for (int64_t y = 0; y < to.height; ++y) {
    int64_t fromX = left, fromY = top;
    for (int64_t x = 0; x < to.width; ++x, made += Step) {
      int64_t column = fromX >> 16, row = fromY >> 16;
      if (column >= 0 && column < from.width && row >= 0 && row < from.height)
        std::copy_n(pixels + (row * from.width + column) * Step, Count, made);
      fromX += fix(m[0]);
      fromY += fix(m[3]);
    }
    left += fix(m[1]);
    top += fix(m[4]);
  }
}

template <typename Sample, int64_t Count, int64_t Step>
static void moveBilinear(const Picture &from, const Operation &operation,
                         Picture &to) {
  auto *pixels = reinterpret_cast<const Sample *>(from.pixels.data());
  auto *made = reinterpret_cast<Sample *>(to.pixels.data());
  const std::array<double, 6> &m = operation.matrix;
  auto clip = [](int64_t at, int64_t count) {
    return std::clamp<int64_t>(at, 0, count - 1);
  };
  for (int64_t y = 0; y < to.height; ++y)
    for (int64_t x = 0; x < to.width; ++x, made += Step) {
      double atX = static_cast<double>(x) + 0.5,
             atY = static_cast<double>(y) + 0.5;
      double fromX = m[0] * atX + m[1] * atY + m[2];
      double fromY = m[3] * atX + m[4] * atY + m[5];
      if (!(fromX >= 0 && fromX < static_cast<double>(from.width) &&
            fromY >= 0 && fromY < static_cast<double>(from.height)))
        continue;
      double column = std::floor(fromX - 0.5), row = std::floor(fromY - 0.5);
      double right = fromX - 0.5 - column, down = fromY - 0.5 - row;
      auto x0 = static_cast<int64_t>(column), y0 = static_cast<int64_t>(row);
      auto get = [&](int64_t dx, int64_t dy, int64_t c) {
        return static_cast<double>(
            pixels[(clip(y0 + dy, from.height) * from.width +
                    clip(x0 + dx, from.width)) *
                       Step +
                   c]);
      };
      for (int64_t c = 0; c < Count; ++c) {
        double upper = get(0, 0, c) + (get(1, 0, c) - get(0, 0, c)) * right;
        double lower = get(0, 1, c) + (get(1, 1, c) - get(0, 1, c)) * right;
        made[c] = static_cast<Sample>(upper + (lower - upper) * down);
      }
    }
}

template <typename Sample, int64_t Count, int64_t Step>
static void move(const Operation &operation, Picture &picture,
                 Picture &scratch) {
  std::swap(picture, scratch);
  picture.width = scratch.width;
  picture.height = scratch.height;
  picture.step = scratch.step;
  picture.pixels.resize(scratch.pixels.size());
  auto *made = reinterpret_cast<Sample *>(picture.pixels.data());
  int scale = sizeof(Sample) == 2 ? 257 : 1;
  for (int64_t i = 0; i < picture.width * picture.height; ++i)
    for (int64_t c = 0; c < Count; ++c)
      made[i * Step + c] = static_cast<Sample>(
          operation.fill[static_cast<size_t>(c)] * scale + 0.5);
  if (operation.isBilinear)
    moveBilinear<Sample, Count, Step>(scratch, operation, picture);
  else
    moveNearest<Sample, Count, Step>(scratch, operation, picture);
}

static void moveAny(const Operation &operation, Picture &picture,
                    Picture &scratch) {
  switch (picture.step) {
  case 1:
    return move<uint8_t, 1, 1>(operation, picture, scratch);
  case 2:
    return move<uint16_t, 1, 1>(operation, picture, scratch);
  case 4:
    return move<uint8_t, 3, 4>(operation, picture, scratch);
  default:
    return move<uint16_t, 3, 4>(operation, picture, scratch);
  }
}

void ingot::runtime::apply(const Operation &operation, Picture &picture,
                           Picture &scratch) {
  using Kind = Operation::Kind;
  if (operation.kind == Kind::Affine) {
    moveAny(operation, picture, scratch);
    return;
  }
  dropDepth(picture);
  bool isGray = picture.isGray();
  double value = operation.value;
  switch (operation.kind) {
  case Kind::Brightness:
    blendAll(picture, value, [](const uint8_t *) { return uint8_t(0); });
    break;
  case Kind::Contrast:
    blendAll(picture, value,
             [mean = getMeanGray(picture)](const uint8_t *) { return mean; });
    break;
  case Kind::Saturation:
    if (!isGray)
      blendAll(picture, value, getGray);
    break;
  case Kind::Sharpness:
    sharpen(picture, value, scratch);
    break;
  case Kind::Hue:
    shiftHue(picture, value);
    break;
  case Kind::Posterize:
    forEachPixel(picture,
                 [&, mask = 0xff00 >> static_cast<int>(value)](uint8_t *pixel) {
                   for (int64_t c = 0; c < countColors(picture); ++c)
                     pixel[c] &= static_cast<uint8_t>(mask);
                 });
    break;
  case Kind::Solarize:
    forEachPixel(picture, [&](uint8_t *pixel) {
      for (int64_t c = 0; c < countColors(picture); ++c)
        if (pixel[c] >= value)
          pixel[c] = static_cast<uint8_t>(255 - pixel[c]);
    });
    break;
  case Kind::AutoContrast:
    mapColors(picture, stretch);
    break;
  case Kind::Equalize:
    mapColors(picture, equalize);
    break;
  case Kind::Gray:
    if (!isGray)
      forEachPixel(picture, [](uint8_t *pixel) {
        pixel[0] = pixel[1] = pixel[2] = getGray(pixel);
      });
    break;
  case Kind::Blur:
    blur(picture, operation.size, value);
    break;
  case Kind::Affine:
    break;
  }
}
