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
  /// Whether the name has the axis; otherwise `inferAxis` may choose another.
  bool hasAxis = false;
  /// Output: the name of the output that is the loss.
  std::string output{};

  /// Returns the loss with the name, or an error that says what is wrong with
  /// the name.
  static llvm::Expected<Loss> parse(llvm::StringRef text);

  /// Returns the name in the syntax of `parse`.
  std::string str() const;

  /// Chooses the axis of the classes from the model's inputs, if the name does
  /// not have it: the axis without which the output has the shape of an input,
  /// or of an input without that axis. Tokens [N, T] tell that [N, T, V] has
  /// classes along axis 2, images [N, 3, H, W] that [N, C, H, W] has them along
  /// axis 1. Where none tells, it is the last one. Fails where several axes
  /// fit. Outputs of up to two dimensions have one axis beside the samples.
  llvm::Error inferAxis(mlir::RankedTensorType output,
                        llvm::ArrayRef<mlir::RankedTensorType> inputs);

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
