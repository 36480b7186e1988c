// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/MetricSums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace ingot::runtime;

static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const std::vector<double> &MetricSums::get(const std::string &name) const {
  static const std::vector<double> none;
  auto found = sums.find(name);
  return found == sums.end() ? none : found->second;
}

double MetricSums::getRows() const {
  const std::vector<double> &count = get("rows");
  return count.empty() ? 0 : count.front();
}

void MetricSums::add(const std::string &name,
                     const std::vector<double> &values) {
  std::vector<double> &sum = sums[name];
  sum.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    sum[i] += values[i];
}

void MetricSums::add(const MetricSums &other) {
  for (const auto &[name, values] : other.sums)
    add(name, values);
}

std::string MetricSums::getName(std::string_view output) {
  constexpr std::string_view prefix = "metric.";
  return output.starts_with(prefix) ? std::string(output.substr(prefix.size()))
                                    : std::string();
}

//===----------------------------------------------------------------------===//
// The metrics, by the names of scikit-learn's functions
//===----------------------------------------------------------------------===//

/// 2 right / (predicted + labeled); 0 where there is neither.
static double computeF1(double right, double predicted, double labeled) {
  double both = predicted + labeled;
  return both > 0 ? 2 * right / both : 0;
}

/// f1_score: of the positive class if there are two, else the mean over the
/// classes that occur.
static double f1OfClasses(const std::vector<double> &confusion) {
  auto classes =
      static_cast<size_t>(std::lround(std::sqrt(double(confusion.size()))));
  double sum = 0, occurring = 0;
  for (size_t c = 0; c < classes; ++c) {
    double labeled = 0, predicted = 0;
    for (size_t other = 0; other < classes; ++other) {
      labeled += confusion[c * classes + other];
      predicted += confusion[other * classes + c];
    }
    double f1 = computeF1(confusion[c * classes + c], predicted, labeled);
    if (classes == 2 && c == 1)
      return f1;
    if (labeled + predicted > 0) {
      sum += f1;
      ++occurring;
    }
  }
  return occurring > 0 ? sum / occurring : kNone;
}

/// f1_score: of one column, or the mean over columns.
static double f1OfColumns(const MetricSums &sums) {
  const std::vector<double> &right = sums.get("right_positives");
  double sum = 0;
  for (size_t c = 0; c < right.size(); ++c)
    sum += computeF1(right[c], sums.get("positives")[c],
                     sums.get("labeled_positives")[c]);
  return sum / static_cast<double>(right.size());
}

double ingot::runtime::computeArea(const std::vector<double> &scores,
                                   const std::vector<double> &labels) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  // Of each positive, the negatives with smaller scores, and half of those with
  // the same.
  double positives = 0, negatives = 0, above = 0;
  for (size_t first = 0; first < order.size();) {
    double tiedPositives = 0, tied = 0;
    size_t at = first;
    for (; at < order.size() && scores[order[at]] == scores[order[first]];
         ++at, ++tied)
      tiedPositives += labels[order[at]] > 0.5;
    above += tiedPositives * (negatives + (tied - tiedPositives) / 2);
    positives += tiedPositives;
    negatives += tied - tiedPositives;
    first = at;
  }
  return positives > 0 && negatives > 0 ? above / (positives * negatives)
                                        : kNone;
}

/// roc_auc_score: of one column or two classes that of the positive one, of
/// several columns or classes (one against the rest) the mean.
static double meanArea(const MetricSums &sums) {
  const std::vector<double> &scores = sums.rows.at("rows.scores"),
                            &labels = sums.rows.at("rows.labels");
  if (labels.empty() || scores.empty())
    return kNone;
  bool areClasses = sums.get("label_is_class").size() == 1;
  size_t columns = static_cast<size_t>(sums.get("columns").front());
  size_t rows = scores.size() / columns;
  double sum = 0, count = 0;
  for (size_t c = areClasses && columns == 2 ? 1 : 0; c < columns; ++c) {
    std::vector<double> ofColumn, isLabel;
    for (size_t row = 0; row < rows; ++row) {
      double label = labels[areClasses ? row : row * columns + c];
      if (label < 0)
        continue;
      ofColumn.push_back(scores[row * columns + c]);
      isLabel.push_back(areClasses ? label == static_cast<double>(c) : label);
    }
    double area = computeArea(ofColumn, isLabel);
    if (std::isnan(area))
      continue;
    sum += area;
    ++count;
  }
  return count > 0 ? sum / count : kNone;
}

/// r2_score: the mean over columns.
static double meanR2(const MetricSums &sums) {
  const std::vector<double> &labels = sums.get("labels");
  double mean = 0, rows = sums.getRows();
  for (size_t c = 0; c < labels.size(); ++c) {
    double error = sums.get("squared_errors")[c];
    double total = sums.get("squared_labels")[c] - labels[c] * labels[c] / rows;
    mean += total > 0 ? 1 - error / total : error > 0 ? 0 : 1;
  }
  return mean / static_cast<double>(labels.size());
}

/// mean_absolute_error.
static double meanError(const MetricSums &sums) {
  const std::vector<double> &errors = sums.get("absolute_errors");
  return std::accumulate(errors.begin(), errors.end(), 0.0) /
         (sums.getRows() * static_cast<double>(errors.size()));
}

std::optional<double> ingot::runtime::computeMetric(const std::string &name,
                                                    const MetricSums &sums,
                                                    double loss) {
  // Means, of losses with several terms.
  auto computeMean = [&](const std::string &of) -> std::optional<double> {
    const std::vector<double> &count = sums.get(of + ".count");
    return count.empty() ? std::optional<double>()
                         : sums.get(of).front() / count.front();
  };
  if (name == "perplexity")
    return std::exp(computeMean("hard_loss").value_or(loss));
  if (std::optional<double> mean = computeMean(name))
    return mean;
  if (name == "f1")
    return sums.get("confusion").empty() ? f1OfColumns(sums)
                                         : f1OfClasses(sums.get("confusion"));
  if (name == "auc")
    return meanArea(sums);
  if (name == "mae")
    return meanError(sums);
  if (name == "r2")
    return meanR2(sums);
  if (name.starts_with("top"))
    return sums.get(name).front() / sums.getRows();
  if (name == "accuracy" && !sums.get("right").empty())
    return sums.get("right").front() / sums.getRows();
  return std::nullopt;
}
