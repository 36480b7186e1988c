// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The metrics of an evaluation: what the compiled evaluation computes of each
// batch (passes/autodiff/Metrics.cpp) is summed or kept, and the metric of all
// samples is made of it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATIONMETRICS_H
#define INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATIONMETRICS_H

#include "runtime/observe/MetricSums.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/trainer/session/Session.h"

#include <string>
#include <vector>

namespace ingot::runtime {

class Communicator;

/// The names of what an evaluation is told by in one number each.
std::vector<std::string> listMetrics(const Manifest &manifest);

class EvaluationMetrics {
public:
  explicit EvaluationMetrics(const Manifest &manifest) : manifest(manifest) {}

  /// Adds what a batch gave.
  void add(Session &session, const Results &results);
  /// Adds what the other ranks have. All ranks call it.
  void addRanks(Communicator &ranks);
  /// Appends all metrics in the order of the manifest.
  void finish(double loss, MetricList &metrics,
              std::vector<MetricTable> &tables) const;

private:
  const Manifest &manifest;
  MetricSums all;
  void noteShape(const std::string &name, const TensorSpec &output);
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATIONMETRICS_H
