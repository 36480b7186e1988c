// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Metrics of evaluations and training steps: what the compiled function
// computes of a batch, of which the trainer makes the metric of all samples
// (runtime/observe/MetricSums.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_METRICS_H
#define INGOT_PASSES_AUTODIFF_METRICS_H

#include "dialects/ingot/ir/Signature.h"
#include "passes/autodiff/Losses.h"

namespace ingot {

/// The operands of a metric in a batch.
struct MetricOperands {
  const Loss &loss;
  /// The model's output that the loss is computed from, and its labels.
  mlir::Value output, labels;
  /// The mask of the labels that count; null if all do.
  mlir::Value counted;
};

/// The metrics that are computed, by their names.
struct MetricNames {
  llvm::SmallVector<std::string> evaluation, training;
};

/// Splits a list of metrics, which commas separate, and checks that each can be
/// computed where a model is trained with the loss. Those of training steps
/// begin with `train-`.
llvm::Expected<MetricNames> parseMetrics(llvm::StringRef text,
                                         const Loss &loss);

/// Adds what the metrics need of a batch to the results of the evaluation:
/// sums, and with names that begin with `metric.rows.` values of each sample.
void buildEvaluationMetrics(mlir::OpBuilder &builder, mlir::Location loc,
                            llvm::ArrayRef<std::string> metrics,
                            const MetricOperands &operands,
                            ResultList &results);

/// Adds the sums that the metrics need of a batch to the results of the
/// training step.
void buildTrainingMetrics(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<std::string> metrics,
                          const MetricOperands &operands, ResultList &results);

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_METRICS_H
