// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/Resume.h"

#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/trainer/options/Hyperparameters.h"
#include "runtime/trainer/options/RunOptions.h"

#include <fmt/format.h>
#include <stdexcept>

using namespace ingot::runtime;

static void inheritLength(Options &options, int64_t totalSteps) {
  options.steps = totalSteps;
  options.configuration["steps"] = {std::to_string(totalSteps)};
}

void ingot::runtime::inheritSettings(Options &options, const RunSettings &saved,
                                     Console &console) {
  std::string changes;
  auto inherit = [&](const std::string &option, auto &value, const auto &old,
                     auto describe) {
    if (value == old)
      return;
    if (!options.isGiven(option)) {
      value = old;
      if (!isOfGroup(option))
        options.configuration[option.substr(2)] = {describe(old)};
      return;
    }
    changes += fmt::format("{}{} {} (it had {})", changes.empty() ? "" : ", ",
                           option, describe(value), describe(old));
  };
  auto asItIs = [](const auto &value) { return fmt::format("{}", value); };
  for (const auto &[name, old] : saved.hyperparameters)
    if (auto value = options.hyperparameters.find(name);
        value != options.hyperparameters.end())
      inherit(getFlag(name), value->second, old, asItIs);
  if (auto words = formatGroups(options.hyperparameters); !words.empty())
    options.configuration["group"] = words;
  try {
    inherit("--schedule", options.schedule,
            ScheduleShape::parse(saved.schedule),
            [](const ScheduleShape &shape) { return shape.str(); });
  } catch (const std::invalid_argument &) {
    throw badInput("--resume",
                   "the checkpoint's run has an unknown schedule '" +
                       saved.schedule + "'",
                   "resume with the release that saved it, or give --schedule");
  }
  if (!options.warmupPart)
    inherit("--warmup", options.warmup, saved.warmup, asItIs);
  inherit("--min-lr", options.minLr, saved.minLr, asItIs);
  if (saved.batchTokens != 0 || options.batchTokens)
    inherit("--batch-tokens", options.batchTokens,
            saved.batchTokens == 0 ? std::nullopt
                                   : std::optional(saved.batchTokens),
            [](const std::optional<int64_t> &tokens) {
              return tokens ? fmt::format("{}", *tokens) : "no limit";
            });
  if (saved.ema != 0 || options.ema)
    inherit("--ema", options.ema, std::optional(saved.ema),
            [](const std::optional<double> &decay) {
              return fmt::format("{}", decay.value_or(0));
            });
  if (!options.epochs && !options.steps)
    inheritLength(options, saved.totalSteps);
  if (!changes.empty())
    console.noteOnce("resumes the checkpoint's run with " + changes);
}

void ingot::runtime::compareRuns(const RunSettings &now,
                                 const RunSettings &saved, int64_t step,
                                 Console &console) {
  if (now.stepSamples != saved.stepSamples && now.position && saved.position)
    console.noteOnce(fmt::format(
        "steps take {} samples on {} {}; those of the checkpoint's run took {} "
        "on {}: step {} continues at sample {} of epoch {}, and epochs have "
        "another number of steps",
        now.stepSamples, now.ranks, now.ranks == 1 ? "rank" : "ranks",
        saved.stepSamples, saved.ranks, step + 1,
        saved.position->getSamples() + 1, saved.position->epoch + 1));
  else if (now.stepSamples != saved.stepSamples && saved.stepSamples != 0)
    console.noteOnce(fmt::format(
        "steps take {} samples on {} {}; those of the checkpoint's run took {} "
        "on {}: the samples of step {} are those that this order has for it, "
        "and epochs have another number of steps",
        now.stepSamples, now.ranks, now.ranks == 1 ? "rank" : "ranks",
        saved.stepSamples, saved.ranks, step + 1));
  if (now.totalSteps != saved.totalSteps && now.schedule == saved.schedule &&
      ScheduleShape::parse(now.schedule).followsLength())
    console.noteOnce(fmt::format(
        "the {} schedule ends at step {} instead of {}, so that the learning "
        "rate of every step changes",
        now.schedule, now.totalSteps, saved.totalSteps));
  if (step >= now.totalSteps)
    console.noteOnce(
        fmt::format("the checkpoint is of step {}, and the run has {} steps: "
                    "there is nothing left to train",
                    step, now.totalSteps));
}
