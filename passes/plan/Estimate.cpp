// SPDX-License-Identifier: Apache-2.0

#include "passes/plan/Estimate.h"

#include <algorithm>

using namespace ingot;

//===----------------------------------------------------------------------===//
// BlockTraces
//===----------------------------------------------------------------------===//

RankPlan BlockTraces::replay(const Cluster &cluster, int64_t ranks,
                             ReplayScale scale) const {
  RankPlan base = ingot::replay(few, cluster, ranks, scale), plan = base;
  for (const More &one : more) {
    plan.add(ingot::replay(one.trace, cluster, ranks, scale), one.times);
    plan.add(base, -one.times);
  }
  // Where more blocks hide what few of them expose, less than nothing would be
  // left.
  plan.exposedSeconds = std::max(0.0, plan.exposedSeconds);
  plan.stepSeconds =
      plan.computeSeconds + plan.hostSeconds + plan.exposedSeconds;
  return plan;
}

template <typename Get> double BlockTraces::sum(Get get) const {
  double base = get(few), all = base;
  for (const More &one : more)
    all += one.times * (get(one.trace) - base);
  return all;
}

double BlockTraces::getComputeSeconds(bool isShared) const {
  return sum(
      [&](const Trace &trace) { return trace.getComputeSeconds(isShared); });
}

double BlockTraces::getParameterBytes() const {
  return sum([](const Trace &trace) {
    return static_cast<double>(trace.parameterBytes);
  });
}

//===----------------------------------------------------------------------===//
// Estimator
//===----------------------------------------------------------------------===//

bool Estimator::knows(const Layout &layout) const {
  auto found = groups.find(layout.tensor);
  return found != groups.end() && found->second.stages[layout.zero];
}

double Estimator::getTimes(const Layout &layout) const {
  return static_cast<double>(layout.batch) /
         static_cast<double>(groups.at(layout.tensor).samples);
}

Estimator::Work Estimator::getWork(const Layout &layout) const {
  const GroupTraces &traces = groups.at(layout.tensor);
  // Where ranks share updates, they can be told from the rest.
  double update = 0;
  for (const std::optional<BlockTraces> &stage : traces.stages)
    if (stage)
      update = std::max(update, stage->getComputeSeconds(/*isShared=*/true));
  double inWork = traces.stage == 0 ? update : 0;
  auto getSeconds = [&](const BlockTraces &steps) {
    return steps.getComputeSeconds(/*isShared=*/false) - inWork;
  };
  auto getBytes = [&](const BlockTraces &steps) {
    Cluster none;
    return static_cast<double>(steps.replay(none, layout.tensor).memoryBytes);
  };
  // What as many samples again add.
  auto getMore = [&](auto get) {
    return (getTimes(layout) - 1) * (get(traces.two) - get(traces.one));
  };
  double first = getSeconds(traces.one);
  return {first + getMore(getSeconds), first, update, getMore(getBytes)};
}

double Estimator::getBound(const Layout &layout) const {
  return scale * static_cast<double>(layout.microBatches) *
         getWork(layout).seconds;
}

RankPlan Estimator::estimate(const Layout &layout) const {
  const GroupTraces &traces = groups.at(layout.tensor);
  const BlockTraces &steps = *traces.stages[layout.zero];
  Work work = getWork(layout);
  // The calls of the stage that was compiled; without ZeRO the update is one of
  // them, and does not grow with the batch.
  double own = layout.zero == 0 ? work.updateSeconds : 0;
  ReplayScale factors{(work.seconds + own) / (work.first + own),
                      getTimes(layout), scale};
  RankPlan step = steps.replay(cluster, layout.ranks, factors);
  RankPlan plan = step;
  if (layout.microBatches > 1) {
    auto others = static_cast<double>(layout.microBatches - 1);
    RankPlan micro = step;
    double update = scale * work.updateSeconds;
    if (layout.zero > 0)
      update /= static_cast<double>(layout.getDataRanks());
    if (layout.zero < 3) {
      // Micro-batches exchange what the next call needs only.
      micro = steps.replay(cluster, layout.tensor, factors);
      update = scale * work.updateSeconds;
    }
    micro.memoryBytes = 0;
    micro.stepSeconds -= update;
    micro.computeSeconds -= update;
    plan.add(micro, others);
    double sums = steps.getParameterBytes();
    if (layout.zero == 3)
      sums /= static_cast<double>(layout.getDataRanks());
    plan.memoryBytes += static_cast<int64_t>(sums);
  }
  plan.memoryBytes += static_cast<int64_t>(work.extraBytes);
  return plan;
}
