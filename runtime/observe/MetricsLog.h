// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The log of a run: one JSON object per line.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_METRICSLOG_H
#define INGOT_RUNTIME_OBSERVE_METRICSLOG_H

#include "runtime/core/Error.h"
#include "runtime/core/files/RecordFile.h"
#include "runtime/observe/MetricSums.h"
#include "runtime/observe/StepStatistics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// Metrics by their names, in the order of the log.
using MetricList = std::vector<std::pair<std::string, double>>;

struct StepMetrics {
  int64_t step = 0;
  float loss = 0;
  double lr = 0;
  /// Sums over the samples of the step, and the metrics made of them.
  MetricSums sums = {};
  MetricList values = {};
  std::optional<float> gradNorm;
  /// The step's loss scale, with loss scaling, and whether its update was
  /// skipped, if it can be.
  std::optional<float> lossScale;
  bool isGuarded = false, skipped = false;
  /// The part of the weights that can be pruned which is pruned after the step.
  std::optional<double> pruned = std::nullopt;
  /// The epoch, from 1, and the seconds since the run began or was resumed.
  int64_t epoch = 0;
  double elapsed = 0;
  /// A summary of the last steps, in some lines.
  std::optional<StepSummary> summary;
  /// The samples of all ranks, and what the step costs.
  int64_t samples = 0;
  StepCost cost = {};
  double stepMs = 0, samplesPerSecond = 0;
  /// Without padding; none unless samples are sequences.
  std::optional<double> tokensPerSecond = std::nullopt;
  /// The cost of the step's batches: the time that the step waited for them,
  /// the time that workers spent, and the batches that were ready.
  struct Data {
    double waitMs = 0, decodeMs = 0;
    int64_t queue = 0;
    /// The part of the rows of sequences that is padding.
    std::optional<double> padding = std::nullopt;
  };
  std::optional<Data> data = std::nullopt;
};

/// A square matrix of numbers, by rows, like a confusion matrix.
struct MetricTable {
  std::string name;
  std::vector<double> values;
};

struct EvalMetrics {
  int64_t step = 0;
  MetricList values;
  std::vector<MetricTable> tables = {};
};

/// Receives what is logged, whether or not there is a file.
class LogFollower {
public:
  virtual ~LogFollower() = default;
  virtual void write(const StepMetrics &metrics) = 0;
  virtual void write(const EvalMetrics &metrics) = 0;
  /// The steps after `step` are taken again.
  virtual void cutAfter(int64_t step) = 0;
};

class MetricsLog {
public:
  /// Writes nothing when `path` is empty. A run that resumes after `keepUntil`
  /// steps keeps the lines of an existing log up to there. When the file has
  /// `mostBytes`, unless that is 0, it becomes `path`.1, in place of an earlier
  /// one, and a new one begins. Throws failure.
  MetricsLog(const std::string &path, std::optional<int64_t> keepUntil,
             int64_t mostBytes = 0);
  /// The file of the lines before those of a log at `path` that has become too
  /// large.
  static std::string getOldPath(const std::string &path) { return path + ".1"; }
  /// Whether a file that begins so is a log.
  static bool isLog(std::string_view begin) { return begin.starts_with("{\""); }

  MetricsLog(const MetricsLog &) = delete;
  MetricsLog &operator=(const MetricsLog &) = delete;

  /// Sets who receives all that is logged; null for nobody.
  void setFollower(LogFollower *receiver) { follower = receiver; }

  /// Writes a line, which the operating system has when the call returns. Lines
  /// that it does not take are kept and written before the next one.
  void write(const StepMetrics &metrics);
  void write(const EvalMetrics &metrics);
  /// Writes the names of classes as the first line of a log that is empty.
  void writeClasses(int64_t step, const std::vector<std::string> &classes);

  /// Removes the lines of the steps after `step`, which are taken again.
  void cutAfter(int64_t step);

  /// Returns the problem that keeps lines from being written now.
  const std::optional<Error> &getProblem() const {
    return records.getProblem();
  }

private:
  void append(const std::string &line);

  std::string path;
  int64_t mostBytes = 0;
  RecordFile records;
  LogFollower *follower = nullptr;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_METRICSLOG_H
