// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The loops over the pixels of a picture, for processors with AVX2 and for the
// others. All sums are of integers: both give the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_PIXELLOOPS_H
#define INGOT_RUNTIME_DATA_PICTURES_PIXELLOOPS_H

#include <cstdint>

namespace ingot::runtime {

/// The bits of a weight, an integer; those of an element sum to 1 << bits.
inline constexpr int kWeightBits = 14;
/// The bytes that loops may read beyond the end of a row.
inline constexpr int64_t kRowSlack = 32;

/// The pixels that an element is made of: `count` from `first` on. Their
/// weights begin at `weights`, are a multiple of kTapGroup, and those beyond
/// `count` are 0.
struct Tap {
  int64_t first = 0, count = 0, weights = 0;
};
inline constexpr int64_t kTapGroup = 4;

struct PixelLoops {
  /// Makes a row of `bytes` bytes: the weighted sum of `count` rows that are
  /// `stride` bytes apart.
  void (*reduceRows)(const uint8_t *rows, int64_t stride,
                     const int16_t *weights, int64_t count, uint8_t *to,
                     int64_t bytes);
  /// Makes `count` pixels of 4 bytes of a row of such.
  void (*reduceColors)(const uint8_t *row, const Tap *taps,
                       const int16_t *weights, uint8_t *to, int64_t count);
  /// Converts color `color` of `count` pixels of 4 bytes, or of those before
  /// the last one if `isFlipped`: byte * scale + shift.
  void (*convertColor)(const uint8_t *pixels, int color, bool isFlipped,
                       float scale, float shift, float *to, int64_t count);
};

/// The loops for this processor.
const PixelLoops &getPixelLoops();
/// The loops for all processors, for tests.
const PixelLoops &getPlainPixelLoops();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_PIXELLOOPS_H
