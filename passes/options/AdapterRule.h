// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Values of --adapter: an adapter, and the layers that have it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_OPTIONS_ADAPTERRULE_H
#define INGOT_PASSES_OPTIONS_ADAPTERRULE_H

#include "passes/options/OptionValues.h"

#include <cstdint>
#include <vector>

namespace ingot {

/// The word that stands for all linear layers but the head.
inline constexpr llvm::StringLiteral kAllLinear = "all-linear";

/// The kinds of adapters, by the names of PEFT's settings.
inline constexpr llvm::StringLiteral kAdapterKinds[] = {"lora", "rslora",
                                                        "dora"};
/// Which biases are trained with adapters.
inline constexpr llvm::StringLiteral kAdapterBiases[] = {"none", "all",
                                                         "adapters"};

/// `KIND:SETTINGS@LAYERS`, where LAYERS is `all-linear`, names separated by
/// commas, or `/REGEX/`.
struct AdapterRule {
  std::string kind;
  int64_t rank = 8;
  double alpha = 8, dropout = 0;
  std::string bias = "none";
  /// The names of layers, as PEFT's `target_modules` has them in a list.
  std::vector<std::string> names;
  /// An expression that has to match the whole path; empty if there is none.
  NamePattern pattern;

  static llvm::Expected<AdapterRule> parse(llvm::StringRef option,
                                           llvm::StringRef text);

  bool isAllLinear() const { return names.empty() && pattern.empty(); }
  bool isRankStabilized() const { return kind == "rslora"; }
  /// Whether the norms of the rows of W + s B A are trained apart.
  bool hasMagnitudes() const { return kind == "dora"; }
  /// Returns the factor of B * A.
  double getScale() const;
  /// Whether a name is that of the layer, or its end after a dot.
  static bool matchName(llvm::StringRef name, llvm::StringRef path);
  /// Whether the rule takes a linear layer that is not the head.
  bool match(llvm::StringRef path) const;
  /// Returns the rule as it was written.
  const std::string &getText() const { return text; }

private:
  llvm::Error parseSettings(llvm::StringRef option, llvm::StringRef settings);
  llvm::Error parseLayers(llvm::StringRef option, llvm::StringRef layers);

  std::string text;
};

} // namespace ingot

#endif // INGOT_PASSES_OPTIONS_ADAPTERRULE_H
