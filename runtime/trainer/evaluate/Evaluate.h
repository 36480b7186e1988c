// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Evaluation and prediction: passes over data without training.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATE_H
#define INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATE_H

#include "runtime/core/Error.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/trainer/input/Feed.h"
#include "runtime/trainer/run/RunContext.h"

#include <functional>
#include <optional>
#include <string>

namespace ingot::runtime {

struct Evaluation {
  /// By their names in the log, `eval_loss` first.
  MetricList metrics;
  std::vector<MetricTable> tables;
  /// Why the loss is not finite, as far as this rank knows; nothing if it is.
  std::optional<Error> problem;
};

/// Runs `function` over batches of the samples in order and calls `visit` with
/// the first sample of each and their number, until it returns false. Batches
/// are dealt to the `size` ranks in turn. With `together`, ranks that have no
/// batch of the last ones run the function, too: on zeros, and for nothing.
void forEachBatch(
    Session &session, const Function &function, const Dataset &data,
    const PassBatches &batches, const Options &options, int64_t rank,
    int64_t size, bool together,
    const std::function<bool(int64_t first, int64_t count)> &visit);

/// Computes the loss over all samples, or over full batches only if the module
/// cannot mask padding. `data` has those of each of `variants`, null where
/// there are none. Ranks divide the batches and receive the same result, which
/// is nothing if one of them was asked to stop. Throws Error.
std::optional<Evaluation> evaluate(const RunContext &context,
                                   const Datasets &data,
                                   const std::vector<size_t> &variants);

/// Writes the model's outputs for every sample as an .npz file, if there is a
/// path: of a model in shards, all ranks compute what one writes. All samples
/// are of one variant. Throws Error.
void predict(const RunContext &context, const Datasets &data,
             const std::vector<size_t> &variants,
             const std::optional<std::string> &path);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATE_H
