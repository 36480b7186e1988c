// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The losses and the terms that each of them is the mean of.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_LOSSES_H
#define INGOT_PASSES_AUTODIFF_LOSSES_H

#include "dialects/ingot/ir/Dialect.h"
#include <optional>
#include <string>

namespace ingot {

/// A loss as the user names it.
struct Loss {
  enum Kind { CrossEntropy, MeanSquaredError, BceWithLogits, Output };

  Kind kind;
  /// CrossEntropy: the axis of the classes, counted from the end if negative.
  int64_t axis = -1;
  /// Output: the name of the output that is the loss.
  std::string output{};

  /// Returns the loss with the name, or an error that says what is wrong with
  /// the name.
  static llvm::Expected<Loss> parse(llvm::StringRef text);

  /// Returns the name in the syntax of `parse`.
  std::string str() const;

  /// Checks that the loss can be computed from an output of the type, and
  /// completes `axis`; the error says what is wrong.
  llvm::Error resolve(mlir::RankedTensorType output);

  /// Returns the type of the labels for an output of the type.
  mlir::RankedTensorType labelsType(mlir::RankedTensorType output) const;
};

/// A loss before it is reduced: tensors of the labels' shape.
struct LossTerms {
  /// The losses in f32, or f64 for an f64 output; 0 where `counted` is false.
  mlir::Value losses;
  /// The mask of the elements that count; null if all do.
  mlir::Value counted;
  /// The mask of the elements that are predicted correctly; null if the loss
  /// has no such notion.
  mlir::Value correct;
};

/// Builds the terms of a resolved loss other than `Output`. `correct` is built
/// only if `wantCorrect`.
LossTerms buildLossTerms(mlir::OpBuilder &builder, mlir::Location loc,
                         const Loss &loss, mlir::Value output,
                         mlir::Value labels, bool wantCorrect);

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_LOSSES_H
