// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/evaluate/EvaluationMetrics.h"

#include "runtime/comm/Communicator.h"

#include <algorithm>
#include <numeric>

using namespace ingot::runtime;

//===----------------------------------------------------------------------===//
// Batches and ranks
//===----------------------------------------------------------------------===//

/// Keeps the number of columns of the scores, and whether labels are classes.
void EvaluationMetrics::noteShape(const std::string &name,
                                  const TensorSpec &output) {
  if (name == "rows.scores")
    all.sums["columns"] = {static_cast<double>(output.shape.back())};
  if (name == "rows.labels" && output.shape.size() == 1)
    all.sums["label_is_class"] = {1};
}

void EvaluationMetrics::add(Session &session, const Results &results) {
  for (const TensorSpec &output : results.function->outputs) {
    std::string name = MetricSums::getName(output.name);
    if (name.empty())
      continue;
    std::vector<double> values = session.readValues(results, output);
    if (!MetricSums::isOfRows(name)) {
      all.add(name, values);
      continue;
    }
    std::vector<double> &rows = all.rows[name];
    rows.insert(rows.end(), values.begin(), values.end());
    noteShape(name, output);
  }
}

/// All values of all ranks, in the order of the ranks.
static std::vector<double> gather(Communicator &ranks,
                                  const std::vector<double> &own) {
  std::vector<double> counts(ranks.getSize());
  counts[ranks.getRank()] = static_cast<double>(own.size());
  ranks.allReduce(counts.data(), static_cast<int64_t>(counts.size()),
                  DType::F64, "rows of an evaluation");
  auto first = static_cast<size_t>(
      std::accumulate(counts.begin(), counts.begin() + ranks.getRank(), 0.0));
  std::vector<double> values(
      static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), 0.0)));
  std::copy(own.begin(), own.end(), values.begin() + first);
  ranks.allReduce(values.data(), static_cast<int64_t>(values.size()),
                  DType::F64, "rows of an evaluation");
  return values;
}

void EvaluationMetrics::addRanks(Communicator &ranks) {
  if (ranks.getSize() == 1 || manifest.metrics.empty())
    return;
  // A rank without batches has no names, but the manifest has.
  const FunctionSpec *function = manifest.findFunction("eval_step");
  for (const TensorSpec &output : function->outputs) {
    std::string name = MetricSums::getName(output.name);
    if (name.empty())
      continue;
    if (MetricSums::isOfRows(name)) {
      all.rows[name] = gather(ranks, all.rows[name]);
      noteShape(name, output);
      continue;
    }
    std::vector<double> &sum = all.sums[name];
    sum.resize(output.getElements());
    ranks.allReduce(sum.data(), static_cast<int64_t>(sum.size()), DType::F64,
                    "sums of an evaluation");
  }
}

std::vector<std::string> ingot::runtime::listMetrics(const Manifest &manifest) {
  std::vector<std::string> names = {"eval_loss"};
  const FunctionSpec *function = manifest.findFunction("eval_step");
  if (function && function->findOutput("correct"))
    names.emplace_back("eval_accuracy");
  for (const std::string &name : manifest.metrics)
    if (name != "confusion")
      names.push_back("eval_" + name);
  return names;
}

void EvaluationMetrics::finish(double loss, MetricList &metrics,
                               std::vector<MetricTable> &tables) const {
  for (const std::string &name : manifest.metrics) {
    if (name == "confusion")
      tables.push_back({"eval_" + name, all.get(name)});
    else if (auto value = computeMetric(name, all, loss))
      metrics.push_back({"eval_" + name, *value});
  }
}
