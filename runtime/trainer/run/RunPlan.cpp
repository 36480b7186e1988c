// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/RunPlan.h"

#include "runtime/core/Error.h"
#include "runtime/data/Sampler.h"
#include "runtime/observe/Progress.h"

#include <cmath>
#include <fmt/format.h>

using namespace ingot::runtime;

RunPlan::RunPlan(RunOptions &options, const RunStart &start,
                 const Sampler *sampler, std::optional<int64_t> measuredSteps,
                 bool isEndless)
    : sampler(sampler), first(start.step), step(start.step),
      endless(isEndless) {
  if (start.settings)
    rateScale = start.settings->rateScale;
  if (measuredSteps)
    total = step + *measuredSteps;
  else if (options.steps)
    total = *options.steps;
  else if (endless)
    total = Progress::kEndless;
  else if (sampler)
    total = sampler->getSteps(options.epochs.value_or(1));
  if (total < 0)
    throw usageError("--epochs", "too many", "give a smaller number");
  if (options.warmupPart)
    options.warmup =
        std::llround(*options.warmupPart * static_cast<double>(total));
  auto rate = options.hyperparameters.find("lr");
  bool hasRate = rate != options.hyperparameters.end();
  if (hasRate && options.minLr > rate->second)
    throw usageError("--min-lr",
                     fmt::format("{} is above --lr, which is {}", options.minLr,
                                 rate->second),
                     "give a smaller one");
  schedule = {options.schedule, options.warmup, total,
              hasRate && rate->second > 0 ? options.minLr / rate->second : 0};
}

int64_t RunPlan::getEpoch(int64_t number) const {
  return sampler->getEpoch(number - 1) + 1;
}

bool RunPlan::endsEpoch(int64_t number) const {
  return number == total || getEpoch(number + 1) != getEpoch(number);
}

double RunPlan::getRateFactor(int64_t updates) const {
  return schedule.getFactor(updates + 1) *
         (plateau ? plateau->getFactor() : 1) * rateScale;
}

bool RunPlan::isRateKnown(int64_t updates, int64_t steps) const {
  return schedule.isConstantFrom(updates + 1 - steps);
}

void RunPlan::followMetric(const std::string &metric, bool wantsLess,
                           double rate, const RunSettings *saved) {
  plateau.emplace(schedule.shape, metric, wantsLess, rate, schedule.least);
  if (saved)
    plateau->resume(saved->plateau);
}

void RunPlan::goBack(int64_t to, const RunSettings *saved) {
  step = to;
  rateScale *= 0.5;
  if (plateau && saved)
    plateau->resume(saved->plateau);
}
