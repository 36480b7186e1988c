// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The option --qat: which layers are trained to be quantized, and how.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPTIONS_QUANTIZATIONRULE_H
#define INGOT_FRONTENDS_ONNX_OPTIONS_QUANTIZATIONRULE_H

#include "dialects/ingot/support/NamePattern.h"

#include <cstdint>
#include <string>

namespace ingot::onnx_import {

/// A value of --qat, KIND[:SETTINGS][@REGEX].
struct QuantizationRule {
  /// Whether weights alone are quantized, to 4 bits in blocks; otherwise
  /// weights and what they multiply are, to 8 bits.
  bool isInt4 = false;
  /// Whether each output of a layer has a scale of its own.
  bool perChannel = false;
  /// Whether scales are trained; otherwise they follow from the values.
  bool learned = false;
  /// Whether weights have 7 bits, with which sums of two products fit 16.
  bool reducesRange = false;
  /// Whether batch norms that follow convolutions become a part of their
  /// weights, with statistics that do not change any more.
  bool foldsNorms = false;
  /// The elements of a column of weights that have one scale, with 4 bits.
  int64_t block = 32;
  /// The layers; empty for all.
  NamePattern layers;
  /// The rule as it was written.
  std::string text;

  static llvm::Expected<QuantizationRule> parse(llvm::StringRef text);
  bool match(llvm::StringRef name) const {
    return layers.empty() || layers.match(name);
  }
};

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPTIONS_QUANTIZATIONRULE_H
