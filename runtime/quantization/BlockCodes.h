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

#include <array>
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
  /// Returns the number of a code of a byte.
  float getByteNumber(uint8_t code) const {
    return dynamicNumbers ? dynamicNumbers[code]
                          : static_cast<float>(static_cast<int8_t>(code));
  }
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
  /// Null without dynamic codes.
  const float *dynamicNumbers;
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

/// The 256 numbers of a dynamic code in ascending order, and what finds the
/// nearest of them: numbers with the same upper bits are a cell, in which is at
/// most one middle between adjacent numbers.
struct DynamicCode {
  /// The bits of a cell, of the fraction of its numbers and of their sign.
  static constexpr int kExponents = 24;
  static constexpr int kCells = 3073;

  explicit DynamicCode(bool isSigned);

  /// Returns the table of a dynamic encoding.
  static const DynamicCode &of(const Encoding &encoding);

  /// Returns the code of the number that is nearest; of two, the lower one.
  uint8_t find(float number) const;

  bool isSigned;
  std::array<float, 256> numbers;
  /// The middles between them; the last one is infinite.
  std::array<float, 256> middles;
  /// The number of middles below the numbers of each cell.
  std::array<uint8_t, kCells> cells;

  /// The bits of f32 numbers that are not in the number of a cell, and the
  /// cells of one sign. The last one of the positive cells is that of 1.
  int getShift() const { return isSigned ? 17 : 16; }
  int getCellsOfSign() const { return (kExponents << 23) >> getShift(); }
};

} // namespace ingot::quantization

#endif // INGOT_RUNTIME_QUANTIZATION_BLOCKCODES_H
