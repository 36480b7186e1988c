// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Metrics of evaluations and training steps, and the sums that they are
// computed from (passes/autodiff/Metrics.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_METRICSUMS_H
#define INGOT_RUNTIME_OBSERVE_METRICSUMS_H

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Sums over batches, by the names of a function's outputs without `metric.`.
struct MetricSums {
  std::map<std::string, std::vector<double>> sums;
  /// One value, or one for each column, for each row; names begin with `rows.`.
  std::map<std::string, std::vector<double>> rows;

  /// The sum of that name, empty if there is none.
  const std::vector<double> &get(const std::string &name) const;
  double getRows() const;
  void add(const std::string &name, const std::vector<double> &values);
  /// Adds all sums of another batch.
  void add(const MetricSums &other);

  /// Returns the name here of an output of a function; empty if no metric is
  /// computed from it.
  static std::string getName(std::string_view output);
  /// Whether values of that name are kept for each row.
  static bool isOfRows(std::string_view name) {
    return name.starts_with("rows.");
  }
};

/// Computes the metric of that name over samples whose mean loss is `loss`.
/// Nothing for a metric that is not one number, or that sums do not have.
std::optional<double> computeMetric(const std::string &name,
                                    const MetricSums &sums, double loss);

/// Returns the area under the receiver operating characteristic of scores, of
/// which the labels above 1/2 are positive: ties count half, as in
/// scikit-learn. NaN if there are no positives, or nothing else.
double computeArea(const std::vector<double> &scores,
                   const std::vector<double> &labels);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_METRICSUMS_H
