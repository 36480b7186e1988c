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

#include "runtime/observe/MetricsLog.h"
#include "runtime/trainer/session/Session.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

class Communicator;

/// Sums over batches, by the names of outputs without `metric.`.
struct MetricSums {
  std::map<std::string, std::vector<double>> sums;
  /// One value, or one for each column, for each row.
  std::map<std::string, std::vector<double>> rows;

  /// The sum of that name, empty if there is none.
  const std::vector<double> &get(const std::string &name) const;
  double getRows() const;
};

/// Computes the metric of that name in an evaluation whose loss is `loss`.
/// Nothing for a metric that is not one number, or that sums do not have.
std::optional<double> computeMetric(const std::string &name,
                                    const MetricSums &sums, double loss);

/// Returns the area under the receiver operating characteristic of scores, of
/// which the labels above 1/2 are positive: ties count half, as in
/// scikit-learn. NaN if there are no positives, or nothing else.
double computeArea(const std::vector<double> &scores,
                   const std::vector<double> &labels);

/// The names of what an evaluation is told by in one number each.
std::vector<std::string> listMetrics(const Manifest &manifest);

class EvaluationMetrics {
public:
  explicit EvaluationMetrics(const Manifest &manifest) : manifest(manifest) {}

  /// Adds what the last run, which was of `function`, has computed.
  void add(Session &session, const Function &function);
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
