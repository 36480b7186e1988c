// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/direct/PixelRows.h"

#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::direct;

Axes::Axes(const ingot_conv_desc &d) {
  for (int64_t axis = 0; axis < 3; ++axis) {
    int64_t i = axis - (3 - d.spatial_rank);
    bool isUsed = i >= 0;
    in[axis] = isUsed ? d.in[i] : 1;
    out[axis] = isUsed ? d.out[i] : 1;
    kernel[axis] = isUsed ? d.kernel[i] : 1;
    stride[axis] = isUsed ? d.stride[i] : 1;
    dilation[axis] = isUsed ? d.dilation[i] : 1;
    pad[axis] = isUsed ? d.pad_low[i] : 0;
  }
}

int64_t Images::getRow(int64_t image, int64_t depth, int64_t height) const {
  int64_t position = (depth * extents[1] + height) * extents[2];
  return channelsLast ? (image * getPlane() + position) * channels
                      : image * channels * getPlane() + position;
}

bool Images::isStreamed() const {
  constexpr int64_t least = 16 << 20;
  return isPlain() && channels % kLineFloats == 0 &&
         count * getPlane() * channels * int64_t(sizeof(float)) >= least &&
         reinterpret_cast<uintptr_t>(data) % INGOT_ALIGNMENT == 0;
}

RowReader::RowReader(const Images &images, int64_t low, int64_t high,
                     int64_t step, int64_t channels, int64_t conflict,
                     bool canBeInPlace)
    : images(images), low(low), high(high), channels(channels) {
  auto conflicts = [&](int64_t pixel) {
    return step * pixel * int64_t(sizeof(float)) % conflict == 0;
  };
  inPlace = canBeInPlace && images.isPlain() && low >= 0 &&
            high <= images.extents[2] && !conflicts(images.channels);
  // An odd number of cache lines from one pixel that is read to the next.
  int64_t padding = ingot::cpu::kDirectPadding;
  for (int64_t rest = step; rest % 2 == 0 && padding > 1; rest /= 2)
    padding /= 2;
  pixelStride = inPlace ? images.channels
                        : channels + (conflicts(channels) ? padding : 0);
}

RowReader RowReader::ofPairs(const Images &images, int64_t low, int64_t high,
                             int64_t step, int64_t channels, int64_t conflict) {
  RowReader reader(images, low, high, 2 * step, channels, conflict,
                   /*canBeInPlace=*/false);
  reader.pairStep = step;
  return reader;
}

RowReader RowReader::ofPaddedChannels(const Images &images, int64_t low,
                                      int64_t high, int64_t step,
                                      int64_t conflict) {
  RowReader reader(images, low, high, step,
                   ingot::abi::divideCeil(images.channels, 2), conflict,
                   /*canBeInPlace=*/false);
  reader.padsChannels = true;
  return reader;
}

void ingot::runtime::direct::pairElements(const uint16_t *__restrict first,
                                          const uint16_t *__restrict second,
                                          float *to, int64_t count) {
  auto *pairs = reinterpret_cast<char *>(to);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t pair =
        (first ? first[i] : 0) | (second ? uint32_t(second[i]) << 16 : 0);
    std::memcpy(pairs + i * sizeof(pair), &pair, sizeof(pair));
  }
}

void ingot::runtime::direct::copyElements(const Images &images, int64_t first,
                                          float *to, int64_t count) {
  if (images.type == INGOT_F32)
    std::memcpy(to, images.data + first * 4, count * sizeof(float));
  else
    widenToF32(images.data + first * 2, images.type, to, count);
}

void ingot::runtime::direct::copyPixels(const Images &images, int64_t first,
                                        int64_t count, int64_t channels,
                                        float *to, int64_t stride) {
  if (images.channelsLast && stride == images.channels && channels == stride)
    return copyElements(images, first, to, count * channels);
  if (images.channelsLast) {
    for (int64_t x = 0; x < count; ++x)
      copyElements(images, first + x * images.channels, to + x * stride,
                   channels);
    return;
  }
  constexpr int64_t most = 64;
  float part[most];
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t x = 0; x < count; x += most) {
      int64_t size = std::min(most, count - x);
      copyElements(images, first + c * images.getPlane() + x, part, size);
      for (int64_t i = 0; i < size; ++i)
        to[(x + i) * stride + c] = part[i];
    }
}

void ingot::runtime::direct::pairPixels(const Images &images, int64_t first,
                                        int64_t count, int64_t channels,
                                        float *to, int64_t stride) {
  const auto *pixels = reinterpret_cast<const uint16_t *>(images.data) + first;
  for (int64_t x = 0; x < count; x += 2, to += stride) {
    const uint16_t *pixel = pixels + x * images.channels;
    pairElements(pixel, x + 1 < count ? pixel + images.channels : nullptr, to,
                 channels);
  }
}

void RowReader::fill(int64_t first, float *to) const {
  int64_t begin = std::clamp<int64_t>(0, low, high);
  int64_t end = std::clamp(images.extents[2], begin, high);
  if (pairStep != 0) {
    const auto *row = reinterpret_cast<const uint16_t *>(images.data) + first;
    auto pixel = [&](int64_t x) {
      return x >= begin && x < end ? row + x * images.channels : nullptr;
    };
    for (int64_t x = low; x < high; ++x)
      pairElements(pixel(x), pixel(x + pairStep), to + (x - low) * pixelStride,
                   channels);
    return;
  }
  if (padsChannels) {
    const auto *row = reinterpret_cast<const uint16_t *>(images.data) + first;
    auto *halves = reinterpret_cast<uint16_t *>(to);
    int64_t stored = images.channels;
    std::fill_n(halves, 2 * (high - low) * pixelStride, uint16_t(0));
    for (int64_t x = begin; x < end; ++x)
      std::copy_n(row + x * stored, stored,
                  halves + 2 * (x - low) * pixelStride);
    return;
  }
  std::fill_n(to, (begin - low) * pixelStride, 0.0f);
  std::fill_n(to + (end - low) * pixelStride, (high - end) * pixelStride, 0.0f);
  copyPixels(images, first + begin * images.getColumnStride(), end - begin,
             channels, to + (begin - low) * pixelStride, pixelStride);
}

const float *RowReader::read(int64_t image, int64_t depth, int64_t height,
                             int64_t channel, int64_t slot, float *room,
                             int64_t *tags) const {
  int64_t first =
      images.getRow(image, depth, height) + channel * images.getChannelStride();
  if (inPlace)
    return reinterpret_cast<const float *>(images.data) + first;
  float *to = room + slot * getRowSize();
  if (tags[slot] != first) {
    fill(first, to);
    tags[slot] = first;
  }
  return to - low * pixelStride;
}

void ingot::runtime::direct::writeRow(const Images &images, int64_t image,
                                      int64_t depth, int64_t height,
                                      int64_t first, int64_t step,
                                      int64_t count, int64_t begin, int64_t end,
                                      const float *from) {
  int64_t row = images.getRow(image, depth, height), width = end - begin;
  bool isWide = images.type == INGOT_F32;
  auto write = [&](const float *values, int64_t to, int64_t size) {
    if (isWide)
      std::memcpy(images.data + to * 4, values, size * sizeof(float));
    else
      roundFromF32(values, images.data + to * 2, images.type, size);
  };
  if (images.channelsLast) {
    if (step == 1 && width == images.channels)
      return write(from, row + first * width, count * width);
    for (int64_t i = 0; i < count; ++i)
      write(from + i * width,
            row + (first + i * step) * images.channels + begin, width);
    return;
  }
  constexpr int64_t most = 64;
  float part[most];
  for (int64_t c = begin; c < end; ++c)
    for (int64_t x = 0; x < count; x += most) {
      int64_t size = std::min(most, count - x);
      for (int64_t i = 0; i < size; ++i)
        part[i] = from[(x + i) * width + c - begin];
      int64_t to = row + c * images.getPlane() + first + x * step;
      if (step == 1)
        write(part, to, size);
      else
        for (int64_t i = 0; i < size; ++i)
          write(part + i, to + i * step, 1);
    }
}
