// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/pictures/formats/Rows.h"

#include "runtime/data/pictures/formats/Codecs.h"

#include <cstring>

using namespace ingot::runtime;

void ingot::runtime::preparePicture(int64_t width, int64_t height,
                                    const RowLayout &layout,
                                    const PixelFormat &format, Picture &picture,
                                    const std::string &where) {
  if (format.isRaw && !layout.isGray() && !layout.palette)
    throw badInput(where,
                   "the mask is a picture in color: its pixels are not the "
                   "numbers of classes",
                   "write it in gray or with a palette, or leave the step "
                   "'mask' out, which makes gray of it");
  picture.width = width;
  picture.height = height;
  picture.step =
      (format.isGray ? 1 : 4) * (format.isDeep && layout.isDeep ? 2 : 1);
  picture.pixels.resize(static_cast<size_t>(width * height * picture.step));
}

/// Converts pixels of which `load` reads a sample as a `From`; the result has
/// the higher bits of it, if samples of `To` are smaller.
template <typename From, typename To>
static void storePixels(const uint8_t *row, const RowLayout &layout, int scale,
                        bool isGray, To *to, int64_t width) {
  constexpr int shift = 8 * (sizeof(From) - sizeof(To));
  auto load = [](const uint8_t *at) {
    if constexpr (sizeof(From) == 2)
      return static_cast<uint32_t>(at[0] << 8 | at[1]);
    else
      return static_cast<uint32_t>(*at);
  };
  // A format cannot be both: these loops are all that there is.
  if (layout.isGray()) {
    for (int64_t x = 0; x < width; ++x, row += layout.step) {
      auto value = static_cast<To>(load(row + layout.red) * scale >> shift);
      if (isGray) {
        to[x] = value;
        continue;
      }
      for (int64_t c = 0; c < 3; ++c)
        to[4 * x + c] = value;
      to[4 * x + 3] = 0;
    }
    return;
  }
  for (int64_t x = 0; x < width; ++x, row += layout.step) {
    auto red = static_cast<To>(load(row + layout.red) >> shift);
    auto green = static_cast<To>(load(row + layout.green) >> shift);
    auto blue = static_cast<To>(load(row + layout.blue) >> shift);
    if (isGray) {
      // Pillow's weights, to 16 bits.
      to[x] = static_cast<To>((uint64_t(red) * 19595 + uint64_t(green) * 38470 +
                               uint64_t(blue) * 7471 + 0x8000) >>
                              16);
      continue;
    }
    to[4 * x] = red;
    to[4 * x + 1] = green;
    to[4 * x + 2] = blue;
    to[4 * x + 3] = 0;
  }
}

void ingot::runtime::storeRow(const uint8_t *row, const RowLayout &layout,
                              const PixelFormat &format, Picture &picture,
                              int64_t y) {
  uint8_t *to = picture.pixels.data() + y * picture.width * picture.step;
  int64_t width = picture.width;
  if (layout.palette && !format.isRaw) {
    // A pixel at a time: the color of the index.
    RowLayout colors{3, 0, 1, 2};
    for (int64_t x = 0; x < width; ++x)
      storePixels<uint8_t, uint8_t>(
          (*layout.palette)[row[x * layout.step]].data(), colors, 1,
          format.isGray, to + x * picture.step, 1);
    return;
  }
  RowLayout samples = layout;
  samples.palette = nullptr;
  int scale = format.isRaw ? 1 : layout.scale;
  if (picture.isDeep())
    storePixels<uint16_t, uint16_t>(row, samples, scale, format.isGray,
                                    reinterpret_cast<uint16_t *>(to), width);
  else if (layout.isDeep)
    storePixels<uint16_t, uint8_t>(row, samples, scale, format.isGray, to,
                                   width);
  else
    storePixels<uint8_t, uint8_t>(row, samples, scale, format.isGray, to,
                                  width);
}
