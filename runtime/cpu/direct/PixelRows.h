// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Rows of images as direct convolution reads and writes them: in f32, or in
// pairs of bf16, with channels last, and with zeros around them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DIRECT_PIXELROWS_H
#define INGOT_RUNTIME_CPU_DIRECT_PIXELROWS_H

#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

namespace ingot::runtime::direct {

/// A convolution with three spatial dimensions, of which the first ones may
/// have one position.
struct Axes {
  explicit Axes(const ingot_conv_desc &desc);

  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
};

/// Elements of a cache line.
inline constexpr int64_t kLineFloats = 16;

/// A batch of images in memory.
struct Images {
  char *data;
  int64_t count;
  int32_t type;
  bool channelsLast;
  int64_t channels;
  /// Depth, height and width.
  const int64_t *extents;

  /// The distances of elements of neighbouring columns, and channels.
  int64_t getColumnStride() const { return channelsLast ? channels : 1; }
  int64_t getChannelStride() const { return channelsLast ? 1 : getPlane(); }
  int64_t getPlane() const { return extents[0] * extents[1] * extents[2]; }
  /// The number of the first element of a row: of its first pixel, or of the
  /// first channel.
  int64_t getRow(int64_t image, int64_t depth, int64_t height) const;
  bool isPlain() const { return type == INGOT_F32 && channelsLast; }
  /// Whether results are stored past the caches, which they would not stay in:
  /// pixels are then whole cache lines.
  bool isStreamed() const;
};

/// Reads rows: in place, or through copies in memory of a thread.
class RowReader {
public:
  /// Reads `channels` channels of the columns [low, high) of rows, of which
  /// those outside the image are zeros. Pixels that are `step` columns apart
  /// are no multiple of `conflict` bytes apart. Rows are read in place only if
  /// they can be, as far as the caller knows.
  RowReader(const Images &images, int64_t low, int64_t high, int64_t step,
            int64_t channels, int64_t conflict, bool canBeInPlace = true);
  static RowReader ofPixels(const Images &images, int64_t low, int64_t high,
                            int64_t step, int64_t channels, int64_t conflict) {
    return {images, low, high, step, channels, conflict};
  }
  /// Reads pairs of pixels in bf16, channels last, that are `step` columns
  /// apart: each one that is read with the one after it, or with zeros.
  static RowReader ofPairs(const Images &images, int64_t low, int64_t high,
                           int64_t step, int64_t channels, int64_t conflict);
  /// Reads pairs of channels in bf16, channels last, of which there is an odd
  /// number: the last one has a zero.
  static RowReader ofPaddedChannels(const Images &images, int64_t low,
                                    int64_t high, int64_t step,
                                    int64_t conflict);

  int64_t getPixelStride() const { return pixelStride; }
  int64_t getRowSize() const {
    return inPlace ? 0 : (high - low) * pixelStride;
  }

  /// Returns pixel 0 of a row, also where it is not among those read, at the
  /// first of the channels, number `channel`. `slot` is where a copy goes in
  /// `room`, whose `tags` say which rows are there.
  const float *read(int64_t image, int64_t depth, int64_t height,
                    int64_t channel, int64_t slot, float *room,
                    int64_t *tags) const;

private:
  void fill(int64_t first, float *to) const;

  const Images &images;
  int64_t low, high, channels;
  bool inPlace;
  int64_t pixelStride;
  /// The distance of the pixels of a pair; zero where pixels are alone.
  int64_t pairStep = 0;
  /// Whether pairs are of channels, and the last one has a zero.
  bool padsChannels = false;
};

/// Writes `count` pairs of elements in bf16; a null pointer stands for zeros.
void pairElements(const uint16_t *first, const uint16_t *second, float *to,
                  int64_t count);

/// Copies elements of images as f32, from number `first` on.
void copyElements(const Images &images, int64_t first, float *to,
                  int64_t count);

/// Copies `channels` channels of `count` pixels, from the element number
/// `first` on: pixels are `stride` apart in `to`.
void copyPixels(const Images &images, int64_t first, int64_t count,
                int64_t channels, float *to, int64_t stride);

/// Copies pairs of neighbouring ones of `count` pixels in bf16, channels last,
/// in the same way.
void pairPixels(const Images &images, int64_t first, int64_t count,
                int64_t channels, float *to, int64_t stride);

/// Writes `count` pixels, `step` apart from `first` on, of a row: the channels
/// [begin, end) of `from`, whose pixels are end - begin apart.
void writeRow(const Images &images, int64_t image, int64_t depth,
              int64_t height, int64_t first, int64_t step, int64_t count,
              int64_t begin, int64_t end, const float *from);

} // namespace ingot::runtime::direct

#endif // INGOT_RUNTIME_CPU_DIRECT_PIXELROWS_H
