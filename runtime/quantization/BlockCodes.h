// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Numbers that are stored as codes, with scales that blocks of them share. What
// codes stand for is decided here: ingotc and trainers encode with these
// functions, and kernels decode with them, so that all agree to the bit.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_QUANTIZATION_BLOCKCODES_H
#define INGOT_RUNTIME_QUANTIZATION_BLOCKCODES_H

#include "runtime/abi/BlockEncoding.h"

#include <cstdint>
#include <vector>

namespace ingot::quantization {

/// The parts of an encoded tensor.
struct Parts {
  const uint8_t *codes;
  /// Numbers in f32, or codes.
  const void *scales;
  /// Null where there are two parts.
  const float *nested;
};

/// Decodes the elements of a tensor.
class Decoder {
public:
  Decoder(const Encoding &encoding, const Parts &parts, int64_t elements);

  /// Decodes elements [first, first + count).
  void decode(int64_t first, int64_t count, float *to) const;
  /// Decodes lines of `count` elements, which begin `stride` elements apart, to
  /// one after the other.
  void decodeLines(int64_t first, int64_t stride, int64_t lines, int64_t count,
                   float *to) const;
  /// Decodes one element.
  float decodeOne(int64_t element) const;
  /// Returns a scale.
  float getScale(int64_t number) const;

private:
  template <bool HasOffset>
  void decodePairs(const uint8_t *codes, int64_t count, float offset,
                   float scale, float *to) const;
  float getOffset(int64_t block) const {
    return encoding.hasOffsets ? parts.nested[block] : 0;
  }

  Encoding encoding;
  Parts parts;
  /// The numbers of the two codes of a byte, the first one first.
  struct Pair {
    float numbers[2];
  };
  const Pair *pairs;
  const float *scaleCodes;
  float mean = 0;
};

/// The bytes of an encoded tensor.
struct Encoded {
  std::vector<uint8_t> codes, scales;
  std::vector<float> nested;
};

/// Encodes numbers, each as the nearest code; of two that are as near as each
/// other, that of the lower number.
Encoded encode(const Encoding &encoding, const float *numbers,
               int64_t elements);

/// Returns the 16 numbers that codes of 4 bits stand for, in units of the
/// scale.
const float *getNumbers(ingot_encoding kind);
/// Returns the 256 numbers of codes of scales, in ascending order.
const float *getScaleNumbers();

} // namespace ingot::quantization

#endif // INGOT_RUNTIME_QUANTIZATION_BLOCKCODES_H
