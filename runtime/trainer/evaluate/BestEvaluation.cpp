// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/evaluate/BestEvaluation.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>

using namespace ingot::runtime;

/// The metrics of which less is better.
static constexpr const char *kErrors[] = {"eval_loss", "eval_mae", "eval_mse",
                                          "eval_perplexity"};

BestEvaluation::BestEvaluation(const std::string &metric,
                               const std::vector<std::string> &known,
                               double least)
    : least(least) {
  best.metric = metric.starts_with("eval_") ? metric : "eval_" + metric;
  if (std::find(known.begin(), known.end(), best.metric) == known.end()) {
    std::string names;
    for (const std::string &name : known)
      names += (names.empty() ? "" : ", ") + name;
    throw usageError("--best", "there is no metric '" + best.metric + "'",
                     "there are " + names +
                         "; others are compiled in with ingotc --metrics");
  }
  wantsLess =
      std::any_of(std::begin(kErrors), std::end(kErrors),
                  [&](const char *name) { return best.metric == name; });
}

void BestEvaluation::resume(const RunSettings::Best &saved) {
  if (saved.metric != best.metric)
    return;
  best = saved;
  isEmpty = saved.step == 0;
}

bool BestEvaluation::isBetter(double value, double than, double by) const {
  return isEmpty || (wantsLess ? value < than - by : value > than + by);
}

bool BestEvaluation::add(int64_t step, const MetricList &metrics) {
  auto find = [&](const std::string &name) {
    auto found =
        std::find_if(metrics.begin(), metrics.end(),
                     [&](const auto &item) { return item.first == name; });
    return found == metrics.end() ? NAN : found->second;
  };
  // Of outputs that are not finite, other metrics say nothing.
  double value = std::isfinite(find("eval_loss")) ? find(best.metric) : NAN;
  bool isKnown = std::isfinite(value);
  bool isBest = isKnown && isBetter(value, best.value, 0);
  ++best.since;
  if (isKnown && isBetter(value, best.reference, least)) {
    best.since = 0;
    best.reference = value;
  }
  if (!isBest)
    return false;
  best.value = value;
  best.step = step;
  isEmpty = false;
  return true;
}
