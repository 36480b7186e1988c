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

double BlockTraces::getComputeSeconds(bool isMicro) const {
  auto get = [&](const Trace &trace) {
    return Trace::getComputeSeconds(isMicro ? trace.micro : trace.step,
                                    /*isShared=*/false);
  };
  double base = get(few), all = base;
  for (const More &one : more)
    all += one.times * (get(one.trace) - base);
  return all;
}

//===----------------------------------------------------------------------===//
// Estimator
//===----------------------------------------------------------------------===//

const BlockTraces *Estimator::sample(Layout layout, int64_t samples) {
  layout.batch = samples;
  layout.microBatches = std::min<int64_t>(2, layout.microBatches);
  auto [found, isNew] = traces.try_emplace(layout.describe());
  if (isNew)
    found->second = compile(layout);
  return found->second ? &*found->second : nullptr;
}

std::optional<Estimator::Growth> Estimator::getGrowth(const Layout &layout) {
  if (layout.batch == getSamples())
    return Growth();
  // Shards and where they are exchanged do not depend on the samples.
  Layout plain = layout;
  plain.microBatches = 1;
  plain.inner = 1;
  const BlockTraces *one = sample(plain, getSamples()),
                    *two = sample(plain, 2 * getSamples());
  if (!one || !two)
    return std::nullopt;
  double times = static_cast<double>(layout.batch - getSamples()) /
                 static_cast<double>(getSamples());
  Cluster none;
  auto getBytes = [&](const BlockTraces &steps) {
    return static_cast<double>(steps.replay(none, layout.tensor).memoryBytes);
  };
  return Growth{times * (two->getComputeSeconds(/*isMicro=*/false) -
                         one->getComputeSeconds(/*isMicro=*/false)),
                times * (getBytes(*two) - getBytes(*one))};
}

std::optional<ReplayScale> Estimator::getScale(const Layout &layout) {
  const BlockTraces *steps = sample(layout, getSamples());
  std::optional<Growth> growth = getGrowth(layout);
  if (!steps || !growth)
    return std::nullopt;
  ReplayScale scale;
  scale.microBatches = layout.microBatches;
  scale.exchange =
      static_cast<double>(layout.batch) / static_cast<double>(getSamples());
  auto grow = [&](bool isMicro) {
    double seconds = steps->getComputeSeconds(isMicro);
    return seconds > 0 ? (seconds + growth->seconds) / seconds : 1;
  };
  scale.compute = grow(/*isMicro=*/false);
  scale.micro = grow(/*isMicro=*/true);
  return scale;
}

double Estimator::getBound(Layout layout) {
  layout.inner = 1;
  layout.kept = Layout::kKeepsAll;
  std::optional<ReplayScale> scale = getScale(layout);
  if (!scale)
    return 0;
  const BlockTraces *steps = sample(layout, getSamples());
  double others = static_cast<double>(layout.microBatches - 1);
  return scale->compute * steps->getComputeSeconds(/*isMicro=*/false) +
         others * scale->micro * steps->getComputeSeconds(/*isMicro=*/true) +
         steps->replay(cluster, layout.tensor, *scale).exposedSeconds;
}

std::optional<RankPlan> Estimator::estimate(const Layout &layout) {
  std::optional<ReplayScale> scale = getScale(layout);
  if (!scale)
    return std::nullopt;
  RankPlan plan =
      sample(layout, getSamples())->replay(cluster, layout.ranks, *scale);
  plan.memoryBytes += static_cast<int64_t>(getGrowth(layout)->bytes);
  return plan;
}
