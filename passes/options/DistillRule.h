// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The value of --distill: how a model learns from a teacher.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_OPTIONS_DISTILLRULE_H
#define INGOT_PASSES_OPTIONS_DISTILLRULE_H

#include "passes/options/OptionValues.h"

#include <string>
#include <utility>
#include <vector>

namespace ingot {

/// Settings, separated by commas. With T the temperature, the loss is
/// alpha T^2 KL(softmax(teacher / T) || softmax(student / T)) +
/// (1 - alpha) times that of labels + pair-weight times the sum of the mean
/// squared errors of pairs.
struct DistillRule {
  /// The settings of --teacher without --distill.
  static constexpr llvm::StringLiteral kDefault = "temperature=4,alpha=0.5";

  double temperature = 4;
  double alpha = 0.5;
  /// Values of the student that become like values of the teacher, by their
  /// names in the ONNX files.
  std::vector<std::pair<std::string, std::string>> pairs;
  double pairWeight = 1;
  /// The precision of the teacher: that of the student if empty, a floating
  /// point precision, or an encoding of the weights of its linear layers.
  std::string precision;

  static llvm::Expected<DistillRule> parse(llvm::StringRef option,
                                           llvm::StringRef text);

  bool empty() const { return text.empty(); }
  /// Whether the teacher computes in 16 bits, whatever the student does.
  bool isLow() const { return precision == "bf16" || precision == "fp16"; }
  /// Whether the weights of the teacher's linear layers are encoded.
  bool isEncoded() const { return !precision.empty() && !isLow(); }
  /// Returns the rule as it was written.
  const std::string &getText() const { return text; }

private:
  std::string text;
};

} // namespace ingot

#endif // INGOT_PASSES_OPTIONS_DISTILLRULE_H
