// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The losses and the terms that each of them is the mean of.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_LOSSES_H
#define INGOT_PASSES_AUTODIFF_LOSSES_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace ingot {

/// A loss as the user names it, or a term of one that is a sum.
struct Loss {
  static constexpr int64_t kIgnoredLabel = -100;
  enum Kind {
    CrossEntropy,
    /// The cross entropy of an output that is logarithms of probabilities.
    NegativeLogLikelihood,
    MeanSquaredError,
    AbsoluteError,
    Huber,
    SmoothAbsoluteError,
    KullbackLeibler,
    BceWithLogits,
    Output
  };
  /// The kind of labels that a loss compares an output with.
  enum class Labels { Classes, Distributions, Probabilities, Values, None };

  Kind kind;
  /// Labels of classes: the axis of the classes, counted from the end if
  /// negative.
  int64_t axis = -1;
  /// Whether the name has the axis; otherwise `inferAxis` may choose another.
  bool hasAxis = false;
  /// The name of the output that is the loss, or that it is computed from;
  /// empty for the first output.
  std::string output{};
  /// The factor of the term in a sum.
  double factor = 1;
  /// CrossEntropy: the label that does not count; PyTorch's by default.
  int64_t ignored = kIgnoredLabel;
  /// CrossEntropy: the part of each label that is spread over all classes.
  double smoothing = 0;
  /// The exponent of the factor that makes terms small whose labels are
  /// predicted well (Lin et al., "Focal loss for dense object detection"); 0
  /// without one.
  double focal = 0;
  /// BceWithLogits with `focal`: the weight of positive labels; negative ones
  /// have the rest of 1.
  std::optional<double> alpha = std::nullopt;
  /// Labels of classes: the weight of each class. BceWithLogits: the weight of
  /// positive labels, one for all or one for each index of the last axis. Empty
  /// without weights.
  llvm::SmallVector<double> weights{};
  /// Huber, SmoothAbsoluteError: the error up to which the loss is a square.
  double threshold = 1;

  /// Returns the loss with the name, or an error that says what is wrong with
  /// the name. The name of a term is [FACTOR*]NAME[:SETTINGS][@OUTPUT].
  static llvm::Expected<Loss> parse(llvm::StringRef text);
  /// Returns the terms of a sum, which `+` separates.
  static llvm::Expected<std::vector<Loss>> parseSum(llvm::StringRef text);

  /// The losses that there are, with their settings, for help and hints.
  static std::string listNames();

  /// Returns the name in the syntax of `parse`.
  std::string str() const;

  /// Returns the name without factor, settings and output.
  llvm::StringRef getName() const;

  /// Returns the resolved loss, of labels of the name, as the module has it.
  LossTermAttr describe(mlir::MLIRContext *context,
                        llvm::StringRef labels) const;

  /// Returns what the output is compared with.
  Labels getLabels() const;
  bool hasClasses() const { return getLabels() == Labels::Classes; }

  /// The name of the input that the output is compared with.
  std::string labelsName() const {
    return output.empty() ? "labels" : "labels_" + output;
  }

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
  /// The weights of elements in the mean, 0 where they do not count; null if
  /// all are 1. The losses are multiplied by it already.
  mlir::Value weights;
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
