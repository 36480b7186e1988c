// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Values of options as users write them: one place reads and checks each kind,
// for passes, pipelines and tools. Errors are UserErrors about the option.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_OPTIONS_OPTIONVALUES_H
#define INGOT_PASSES_OPTIONS_OPTIONVALUES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"
#include <memory>
#include <string>

namespace ingot {

/// Types in which contractions, and the optimizer's moments, can be stored.
inline constexpr llvm::StringLiteral kPrecisions[] = {"fp32", "bf16", "fp16"};
/// Precisions that a trainer can be compiled for: in fp8, matmuls of bf16 read
/// 8 bits.
inline constexpr llvm::StringLiteral kTrainerPrecisions[] = {"fp32", "bf16",
                                                             "fp16", "fp8"};
inline constexpr llvm::StringLiteral kFloat8Scalings[] = {"current", "delayed",
                                                          "block", "mx"};
inline constexpr llvm::StringLiteral kOptimizerPrecisions[] = {"fp32", "bf16"};

/// The word that --no-decay takes instead of a regular expression.
inline constexpr llvm::StringLiteral kNormsAndBiases = "norms-and-biases";

/// `a, b or c`.
std::string joinChoices(llvm::ArrayRef<llvm::StringLiteral> choices);

/// Succeeds if `text` is one of the choices.
llvm::Error checkChoice(llvm::StringRef option, llvm::StringRef text,
                        llvm::ArrayRef<llvm::StringLiteral> choices);

/// SIZE, as bytes or with a unit, or N%; with `at-least:` before it, more where
/// that is not possible.
struct MemorySize {
  double number = 0;
  bool isPercent = false;
  bool isLeast = false;

  static llvm::Expected<MemorySize>
  parse(llvm::StringRef option, llvm::StringRef text, bool allowPercent);
};

/// The user's choices for recomputation: regular expressions for the names of
/// nodes whose results are saved, and recomputed. Each comes as `save=REGEX` or
/// `recompute=REGEX`.
struct RematNames {
  std::shared_ptr<llvm::Regex> save, recompute;

  static llvm::Expected<RematNames> parse(llvm::StringRef option,
                                          llvm::ArrayRef<std::string> texts);
};

} // namespace ingot

#endif // INGOT_PASSES_OPTIONS_OPTIONVALUES_H
