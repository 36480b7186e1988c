// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How numbers are encoded (docs/spec/encoding.md): the sizes of the parts of an
// encoded tensor. runtime/quantization encodes and decodes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_BLOCKENCODING_H
#define INGOT_RUNTIME_ABI_BLOCKENCODING_H

#include "runtime/abi/Abi.h"

#include <cstdint>

namespace ingot::quantization {

struct Encoding {
  ingot_encoding kind = INGOT_CODE_NF4;
  /// The elements that share a scale, an even number.
  int64_t block = 64;
  /// Whether scales are codes as well.
  bool isDouble = false;
  /// Whether each block of integers has an offset, which is added before its
  /// numbers are scaled.
  bool hasOffsets = false;
  /// Whether bytes are no integers, but number decades, with a sign or without
  /// (Dettmers et al., "8-bit Optimizers via Block-wise Quantization", 2022).
  enum class Dynamic { None, Signed, Unsigned } dynamic = Dynamic::None;

  /// Returns the encoding that has two parts, or three.
  static constexpr Encoding of(ingot_encoding kind, int64_t block,
                               bool hasNested) {
    bool isInteger = kind == INGOT_CODE_INT4 || kind == INGOT_CODE_INT8;
    return {kind, block, hasNested && !isInteger, hasNested && isInteger};
  }
  /// Returns the encoding of numbers that may be negative, or are not.
  static constexpr Encoding ofDynamic(bool hasSign, int64_t block) {
    return {INGOT_CODE_INT8, block, /*isDouble=*/false, /*hasOffsets=*/false,
            hasSign ? Dynamic::Signed : Dynamic::Unsigned};
  }

  static constexpr int64_t kMostBlock = 4096;
  /// The scales that share a scale, where these are codes.
  static constexpr int64_t kScaleBlock = 256;

  constexpr bool isValid() const {
    bool isFloat = kind == INGOT_CODE_NF4 || kind == INGOT_CODE_FP4;
    return block > 0 && block <= kMostBlock && block % 2 == 0 &&
           !(isFloat ? hasOffsets : isDouble) && !(isDynamic() && hasOffsets);
  }

  constexpr bool isDynamic() const { return dynamic != Dynamic::None; }
  constexpr int64_t getCodeBytes(int64_t elements) const {
    return kind == INGOT_CODE_INT8 ? elements : (elements + 1) / 2;
  }
  constexpr int64_t countScales(int64_t elements) const {
    return (elements + block - 1) / block;
  }
  /// Bytes of an element of the scales.
  constexpr int64_t getScaleBytes() const { return isDouble ? 1 : 4; }
  constexpr bool hasNested() const { return isDouble || hasOffsets; }
  /// The numbers of the third part: scales of scales, and their mean; or the
  /// offsets.
  constexpr int64_t countNested(int64_t elements) const {
    if (hasOffsets)
      return countScales(elements);
    return isDouble
               ? (countScales(elements) + kScaleBlock - 1) / kScaleBlock + 1
               : 0;
  }
};

} // namespace ingot::quantization

#endif // INGOT_RUNTIME_ABI_BLOCKENCODING_H
