// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The best evaluation of a run, for the checkpoint that is kept apart and for
// stopping early.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_EVALUATE_BESTEVALUATION_H
#define INGOT_RUNTIME_TRAINER_EVALUATE_BESTEVALUATION_H

#include "runtime/checkpoint/CheckpointInfo.h"
#include "runtime/observe/MetricsLog.h"

#include <string>

namespace ingot::runtime {

class BestEvaluation {
public:
  /// Follows the metric of that name, with or without `eval_`. Throws
  /// usageError unless it is one of `known`.
  /// `least` is by how much an evaluation has to be better to count as one.
  BestEvaluation(const std::string &metric,
                 const std::vector<std::string> &known, double least = 0);

  /// Continues where a checkpoint's run was, if it followed the same metric.
  void resume(const RunSettings::Best &saved);
  /// Takes an evaluation; returns whether it is the best so far. One whose
  /// metric or loss is not finite is never the best.
  bool add(int64_t step, const MetricList &metrics);

  /// Whether a smaller value is a better one.
  bool getWantsLess() const { return wantsLess; }

  const RunSettings::Best &get() const { return best; }

private:
  bool isBetter(double value, double than, double by) const;

  RunSettings::Best best;
  double least;
  bool isEmpty = true, wantsLess;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_EVALUATE_BESTEVALUATION_H
