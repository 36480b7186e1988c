// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/RunOptions.h"

#include "runtime/core/Error.h"
#include "runtime/trainer/options/Hyperparameters.h"
#include "runtime/trainer/options/OptionChecks.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

using namespace ingot::runtime;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr const char *kRun = "Run", *kEnd = "When to stop";

/// In the order of NanPolicy.
static const std::vector<std::string> kNanPolicies = {"stop", "skip",
                                                      "rollback"};

static CLI::Validator isSchedule() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        try {
          (void)ScheduleShape::parse(text);
          return {};
        } catch (const std::invalid_argument &problem) {
          return problem.what();
        }
      },
      "");
}

/// Steps, or a percentage of the run.
static CLI::Validator isWarmup() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        int64_t steps = 0;
        double percent = 0;
        if ((parseWhole(text, steps) && steps >= 0) ||
            (text.ends_with("%") &&
             parseWhole(std::string_view(text).substr(0, text.size() - 1),
                        percent) &&
             percent >= 0 && percent <= 100))
          return {};
        return fmt::format("'{}' is neither a number of steps nor a percentage "
                           "of the run",
                           text);
      },
      "");
}

static void addRates(CLI::App &app, Options &options) {
  app.add_option("--schedule", options.scheduleText,
                 "How the learning rate changes over the run: " +
                     listSchedules())
      ->type_name("KIND")
      ->check(isSchedule())
      ->default_str("constant")
      ->group(kRun);
  app.add_option("--warmup", options.warmupText,
                 "Steps over which the learning rate grows to its value, or "
                 "that part of the run")
      ->type_name("N|P%")
      ->check(isWarmup())
      ->default_str("0")
      ->group(kRun);
  app.add_option("--min-lr", options.minLr,
                 "The learning rate that --schedule does not fall below")
      ->type_name("X")
      ->check(isNumberFrom(0, kInfinity))
      ->default_str("0")
      ->group(kRun);
}

void ingot::runtime::addRunOptions(CLI::App &app, Options &options,
                                   const Manifest &manifest) {
  CLI::Option *epochs =
      app.add_option("--epochs", options.epochs,
                     "Passes over the data [1, unless --steps is given]")
          ->type_name("N")
          ->check(atLeast(0))
          ->group(kRun);
  app.add_option("--steps", options.steps,
                 "Steps of the whole run, resumed or not; 0 evaluates only")
      ->type_name("N")
      ->check(atLeast(0))
      ->excludes(epochs)
      ->group(kRun);
  app.add_option("--seed", options.seed,
                 "Seed of shuffling, dropout and initial values [0; that of "
                 "the checkpoint after --resume]")
      ->type_name("N")
      ->check(atLeast(0))
      ->group(kRun);
  addRates(app, options);
  app.add_option("--ema", options.ema,
                 "Evaluate and export the exponential moving average of the "
                 "weights, whose part in each step's average is this")
      ->type_name("DECAY")
      ->check(isNumberFrom(0, 1))
      ->group(kRun);
  app.add_option("--early-stop", options.earlyStop,
                 "End the run after N evaluations in a row in which --best "
                 "METRIC was no better")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(kEnd);
  app.add_option("--nan", options.nanText,
                 "A step that is not finite ends the run (stop), changes "
                 "nothing (skip; needs ingotc --guard or fp16), or takes the "
                 "run back to its last checkpoint with half the learning rate "
                 "(rollback; needs --save)")
      ->type_name("stop|skip|rollback")
      ->check(CLI::IsMember(kNanPolicies))
      ->default_str("stop")
      ->group(kEnd);
}

/// Whether steps of the trainer can leave the model as it is.
static bool canSkip(const Manifest &manifest) {
  const FunctionSpec *step = manifest.findFunction("train_step");
  return step && step->findOutput("skipped");
}

void ingot::runtime::finishRunOptions(Options &options,
                                      const Manifest &manifest) {
  if (!options.scheduleText.empty())
    options.schedule = ScheduleShape::parse(options.scheduleText);
  std::string_view warmup = options.warmupText;
  if (warmup.ends_with("%")) {
    warmup.remove_suffix(1);
    double percent = 0;
    parseWhole(warmup, percent);
    options.warmupPart = percent / 100;
  } else if (!warmup.empty()) {
    parseWhole(warmup, options.warmup);
  }
  auto policy =
      std::find(kNanPolicies.begin(), kNanPolicies.end(), options.nanText);
  if (policy != kNanPolicies.end())
    options.nan = static_cast<NanPolicy>(policy - kNanPolicies.begin());
  options.checkpoints = options.save;
  if (options.nan == NanPolicy::Skip && !canSkip(manifest))
    throw usageError("--nan", "this trainer cannot skip the update of a step",
                     "compile the model with ingotc --guard");
  if (options.nan == NanPolicy::Rollback && options.save.empty())
    throw usageError("--nan", "rollback needs checkpoints",
                     "give --save DIR, and --save-every N");
  if (options.evalData.empty())
    for (const char *option : {"--early-stop", "--best"})
      if (options.isGiven(option))
        throw usageError(option, "needs --eval-data",
                         "give --eval-data FILE.npz");
}
