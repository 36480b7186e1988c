// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/hooks/Hooks.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/trainer/hooks/AverageHook.h"
#include "runtime/trainer/hooks/BucketTuner.h"
#include "runtime/trainer/hooks/Diagnoser.h"
#include "runtime/trainer/hooks/MemoryHook.h"
#include "runtime/trainer/hooks/ParameterInspector.h"
#include "runtime/trainer/hooks/ProfileHook.h"
#include "runtime/trainer/hooks/PruneHook.h"
#include "runtime/trainer/hooks/RankCheck.h"
#include "runtime/trainer/hooks/StepTimer.h"
#include "runtime/trainer/hooks/TimeLimitHook.h"
#include "runtime/trainer/hooks/WatchHook.h"
#include "runtime/trainer/run/RunPlan.h"
#include "runtime/trainer/save/Checkpointing.h"

using namespace ingot::runtime;

std::optional<int64_t>
ingot::runtime::countMeasuredSteps(const Options &options) {
  if (options.report.diagnose)
    return Diagnoser::kMost + Diagnoser::kAhead;
  if (options.tune.measureSeconds)
    return StepTimer::kMost;
  return std::nullopt;
}

StepHooks ingot::runtime::makeHooks(const RunContext &context,
                                    const HookSeams &seams) {
  const Options &options = context.options;
  StepHooks hooks;
  auto add = [&]<typename Hook>(std::unique_ptr<Hook> hook) {
    hooks.push_back(std::move(hook));
  };
  // Before others look at the weights.
  if (auto pruner = openPruner(context.session))
    add(std::make_unique<PruneHook>(std::move(pruner), context,
                                    seams.checkpointing, seams.plan.getStep()));
  if (options.observe.watch)
    add(std::make_unique<WatchHook>(context));
  if (options.observe.checkMemory)
    add(std::make_unique<MemoryHook>(context));
  if (options.ranks.checkEvery && context.ranks.getSize() > 1)
    add(std::make_unique<RankCheck>(context, *options.ranks.checkEvery));
  // All ranks stop for a step that rank 0 inspects.
  if (options.observe.histogramEvery)
    add(std::make_unique<ParameterInspector>(context, seams.board));
  if (options.report.diagnose)
    add(std::make_unique<Diagnoser>(context, seams));
  else if (options.observe.profile)
    add(std::make_unique<ProfileHook>(context, seams.plan));
  if (options.tune.measureSeconds)
    add(std::make_unique<StepTimer>(*options.tune.measureSeconds));
  if (options.tune.isOn && context.ranks.getSize() > 1 &&
      context.getManifest().target.tuning == TuningPlace::Host)
    add(std::make_unique<BucketTuner>(context));
  if (options.run.maxTime && !countMeasuredSteps(options))
    add(std::make_unique<TimeLimitHook>(context, *options.run.maxTime));
  if (seams.checkpointing.getAverage())
    add(std::make_unique<AverageHook>(seams.checkpointing));
  return hooks;
}
