// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A pair of QuantizeLinear and DequantizeLinear whose scales follow from the
// values in training, or are trained.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_REWRITE_QUANTIZER_H
#define INGOT_FRONTENDS_ONNX_REWRITE_QUANTIZER_H

#include <cstdint>
#include <optional>
#include <string>

namespace ingot::onnx_import {

struct Quantizer {
  /// Scales that are known are not less: the epsilon of fp32.
  static constexpr double kLeastScale = 0x1p-23;

  /// The initializers of the scales and of the zero points, and the output of
  /// the first QuantizeLinear, whose input is observed: others have its scales.
  std::string scale, zeroPoint, codes;
  /// Whether the zero point is one number that follows from the values; it is 0
  /// otherwise.
  bool isAffine = false;
  /// Whether scales are trained.
  bool isLearned = false;
  /// The dimension along which scales are, and how many elements of it have
  /// one.
  std::optional<int64_t> axis;
  int64_t block = 1;
  /// The codes that the least and the greatest value get. With a zero point of
  /// 0 the range is symmetric.
  double least = 0, greatest = 255;

  /// The states of the least and the greatest value that were seen.
  std::string getLow() const { return scale + "/low"; }
  std::string getHigh() const { return scale + "/high"; }
};

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_REWRITE_QUANTIZER_H
