//===----------------------------------------------------------------------===//
//
// The losses: what each compares, element by element.
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

  /// Returns the loss with the name; what is wrong with it otherwise.
  static llvm::Expected<Loss> parse(llvm::StringRef text);

  /// Returns the name, as `parse` takes it.
  std::string str() const;

  /// Checks that the loss can be taken of an output of the type, and completes
  /// `axis`; says what is wrong otherwise.
  llvm::Error resolve(mlir::RankedTensorType output);

  /// Returns the type of the labels for an output of the type.
  mlir::RankedTensorType labelsType(mlir::RankedTensorType output) const;
};

/// A loss before it is reduced: tensors of the labels' shape.
struct LossTerms {
  /// f32, or f64 for an output in f64; 0 where `counted` does not hold.
  mlir::Value losses;
  /// Which elements count; null if all do.
  mlir::Value counted;
  /// Which elements are predicted right; null where that means nothing.
  mlir::Value correct;
};

/// Builds the terms of a resolved loss other than `Output`. `correct` is built
/// only if `wantCorrect`.
LossTerms buildLossTerms(mlir::OpBuilder &builder, mlir::Location loc,
                         const Loss &loss, mlir::Value output,
                         mlir::Value labels, bool wantCorrect);

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_LOSSES_H
