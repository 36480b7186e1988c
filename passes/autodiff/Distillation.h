// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The part of a loss that compares a model with its teacher.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_DISTILLATION_H
#define INGOT_PASSES_AUTODIFF_DISTILLATION_H

#include "dialects/ingot/ir/Signature.h"
#include "passes/autodiff/Losses.h"
#include "passes/options/DistillRule.h"

namespace ingot {

/// How a model learns from the function @teacher of its module, which
/// --ingot-add-teacher has checked.
class Distillation {
public:
  /// Returns how a model learns; nothing in a module without a teacher. `loss`
  /// is that of labels, of result `output` of `forward`, of which there may be
  /// several (`isSum`). Fails where the teacher's output does not fit.
  static llvm::FailureOr<std::optional<Distillation>>
  choose(Signature forward, const DistillRule &rule, const Loss &loss,
         unsigned output, bool isSum);

  /// Whether the loss is a mean over the labels that count, as that of labels
  /// is.
  bool sharesMean() const { return !hasPairs && !hasWeights; }
  /// Returns the metrics of training steps that `add` computes.
  llvm::SmallVector<std::string> listMetrics() const;

  /// The loss of labels in a training step.
  struct Hard {
    /// The mean, or if `weight` is set the sum over the labels that count,
    /// divided by the number of all labels.
    mlir::Value loss;
    /// The fraction of labels that count; null where means are complete.
    mlir::Value weight;
    /// The model's output that is compared, and the mask of its labels that
    /// count; null if all do.
    mlir::Value output, counted;
  };
  /// Adds the teacher to the step, and sums of metrics to `sums`. Returns the
  /// whole loss. `paired` are the step's values that are compared with the
  /// teacher's.
  mlir::Value add(Signature step, mlir::OpBuilder &builder, mlir::Location loc,
                  const Hard &hard, llvm::ArrayRef<mlir::Value> paired,
                  ResultList &sums) const;
  /// Erases the teacher's function.
  void eraseTeacher() { teacher.erase(); }

private:
  ResultList inlineTeacher(Signature step) const;

  mlir::func::FuncOp teacher;
  DistillRule rule;
  /// The axis of the classes.
  int64_t axis = 0;
  /// Whether labels have weights, and whether values are compared.
  bool hasWeights = false, hasPairs = false;
  /// The teacher's result with logits, if they are compared.
  std::optional<unsigned> logits;
};

/// Returns the values that are compared with those of a teacher.
llvm::SmallVector<mlir::Value> pairedResults(Signature signature);

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_DISTILLATION_H
