// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/phases/RunOptions.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/OptionBinding.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/core/machine/OpenMpSettings.h"
#include "runtime/trainer/options/phases/Hyperparameters.h"
#include "runtime/trainer/options/phases/OptionWords.h"

#include <fmt/format.h>
#include <limits>
#include <stdexcept>

using namespace ingot::runtime;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// In seconds; longer than any machine is on.
static constexpr double kLongestTime = 1e9;
static constexpr const char *kRun = "Run", *kEnd = "When to stop",
                            *kHyperparameters = "Hyperparameters";

static const Choices<NanPolicy> kNanPolicies = {
    {"stop", NanPolicy::Stop},
    {"skip", NanPolicy::Skip},
    {"rollback", NanPolicy::Rollback}};

/// Parses --schedule.
static WordParser parseSchedule(ScheduleShape &schedule) {
  return [&schedule](const std::string &text) -> std::string {
    try {
      schedule = ScheduleShape::parse(text);
      return {};
    } catch (const std::invalid_argument &problem) {
      return problem.what();
    }
  };
}

/// Parses --warmup: steps, or a percentage of the run.
static WordParser parseWarmup(int64_t &steps, std::optional<double> &part) {
  return [&steps, &part](const std::string &text) -> std::string {
    int64_t number = 0;
    double percent = 0;
    if (parseWhole(text, number) && number >= 0) {
      steps = number;
      part.reset();
      return {};
    }
    if (text.ends_with("%") &&
        parseWhole(std::string_view(text).substr(0, text.size() - 1),
                   percent) &&
        percent >= 0 && percent <= 100) {
      steps = 0;
      part = percent / 100;
      return {};
    }
    return fmt::format("'{}' is neither a number of steps nor a percentage "
                       "of the run",
                       text);
  };
}

/// Parses --max-time: a number of seconds, or of the unit behind it.
static WordParser parseTime(std::optional<double> &seconds) {
  return [&seconds](const std::string &text) -> std::string {
    static constexpr std::pair<char, double> kUnits[] = {
        {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    std::string_view number = text;
    double scale = 1, value = 0;
    for (auto [unit, length] : kUnits)
      if (number.ends_with(unit)) {
        number.remove_suffix(1);
        scale = length;
        break;
      }
    if (!parseWhole(number, value) || !(value > 0) ||
        value * scale > kLongestTime)
      return fmt::format("'{}' is not a time above 0, as in 90s, 45m, 1.5h or "
                         "2d",
                         text);
    seconds = value * scale;
    return {};
  };
}

void RunOptions::bindRates(CLI::App &app) {
  addParsed(app, "--schedule", parseSchedule(schedule),
            "How the learning rate changes over the run: " + listSchedules())
      ->type_name("KIND")
      ->default_str("constant")
      ->group(kRun);
  addParsed(app, "--warmup", parseWarmup(warmup, warmupPart),
            "Steps over which the learning rate grows to its value, or that "
            "part of the run")
      ->type_name("N|P%")
      ->default_str("0")
      ->group(kRun);
  app.add_option("--min-lr", minLr,
                 "The learning rate that --schedule does not fall below")
      ->type_name("X")
      ->check(isNumberFrom(0, kInfinity))
      ->default_str("0")
      ->group(kRun);
}

static const Choices<RangeChoice> kRangeChoices = {
    {"min-max", RangeChoice::MinMax},
    {"percentile", RangeChoice::Percentile},
    {"mse", RangeChoice::Error}};

void RunOptions::bindCalibration(CLI::App &app) {
  app.add_option("--calibrate", calibrate,
                 "Set the scales of what is quantized by N batches of --data, "
                 "spread evenly over it, before the first step; with --steps 0 "
                 "that is all")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(kRun);
  addChoice(app, "--calibration", calibration, kRangeChoices,
            "The ranges for scales: all values, without the outermost 0.01%, "
            "or with the least mean square error [min-max; mse for scales that "
            "are trained]")
      ->group(kRun);
}

static CLI::Validator isValueOf(const std::string &hyperparameter) {
  return CLI::Validator(
      [hyperparameter](std::string &text) {
        return checkHyperparameter(hyperparameter, text);
      },
      "");
}

void RunOptions::setDefaults(const Manifest &manifest) {
  for (const HyperparameterSpec &spec : manifest.hyperparameters)
    hyperparameters[spec.name] = spec.value;
}

void RunOptions::bindHyperparameters(CLI::App &app, const Manifest &manifest) {
  for (const HyperparameterSpec &spec : manifest.hyperparameters) {
    if (isOfGroup(spec.name))
      continue;
    const KnownHyperparameter *known = findKnownHyperparameter(spec.name);
    app.add_option(getFlag(spec.name), hyperparameters[spec.name],
                   known ? known->description
                         : "Hyperparameter of the optimizer")
        ->type_name("X")
        ->check(isValueOf(spec.name))
        ->default_str(fmt::format("{}", spec.value))
        ->group(kHyperparameters);
  }
  auto parseNoDecay = [this](const std::string &text) -> std::string {
    keepsVectors = text == "norms-and-biases";
    if (keepsVectors)
      return {};
    return fmt::format("'{}' is not norms-and-biases: other parameters are "
                       "compiled in, with ingotc --no-decay or --group",
                       text);
  };
  if (manifest.findHyperparameter("weight_decay"))
    addParsed(app, "--no-decay", parseNoDecay,
              "Parameters without weight decay: those of norms and biases; for "
              "others, ingotc --no-decay REGEX or --group")
        ->type_name("norms-and-biases")
        ->group(kHyperparameters);
  app.add_option("--group", groups,
                 "For the parameters of a group (ingotc --group): a factor of "
                 "the learning rate, the weight decay, the steps for which "
                 "they stay as they are")
      ->type_name("NAME:lr=X,decay=X,freeze-until=N")
      ->take_all()
      ->group(kHyperparameters);
  if (manifest.findState("loss_scale"))
    app.add_option("--loss-scale", lossScale,
                   "Loss scale of the first step [65536]")
        ->type_name("X")
        ->check(CLI::Validator(
            [](std::string &text) -> std::string {
              double value = 0;
              if (parseWhole(text, value) && std::isfinite(value) && value > 0)
                return {};
              return fmt::format("'{}' is not a number above 0", text);
            },
            ""))
        ->group(kHyperparameters);
}

void RunOptions::bind(CLI::App &app, const Manifest &manifest) {
  CLI::Option *epochsOption =
      app.add_option("--epochs", epochs,
                     "Passes over the data [1, unless --steps is given]")
          ->type_name("N")
          ->check(atLeast(0))
          ->group(kRun);
  app.add_option("--steps", steps,
                 "Steps of the whole run, resumed or not; 0 evaluates only")
      ->type_name("N")
      ->check(atLeast(0))
      ->excludes(epochsOption)
      ->group(kRun);
  app.add_flag("--evaluate", evaluate,
               "Evaluate, and take no step: the weights of --resume or --init, "
               "or those of the model")
      ->disable_flag_override()
      ->group(kRun);
  app.add_option("--seed", seed,
                 "Seed of shuffling, dropout and initial values [0; that of "
                 "the checkpoint after --resume]")
      ->type_name("N")
      ->check(atLeast(0))
      ->group(kRun);
  if (!manifest.quantizers.empty())
    bindCalibration(app);
  if (manifest.target.tuning == TuningPlace::Host)
    app.add_option("--threads", threads,
                   "Threads of steps [OMP_NUM_THREADS, or the processors that "
                   "the process may use]")
        ->type_name("N")
        ->check(isIntegerFrom(1, kMostThreads))
        ->group(kRun);
  bindRates(app);
  app.add_option("--ema", ema,
                 "Evaluate and export the exponential moving average of the "
                 "weights: the decay of the average, such as 0.999")
      ->type_name("DECAY")
      ->check(isNumberFrom(0, 1))
      ->group(kRun);
  CLI::Option *earlyStopOption =
      app.add_option("--early-stop", earlyStop,
                     "End the run after N evaluations in a row in which --best "
                     "METRIC was no better")
          ->type_name("N")
          ->check(atLeast(1))
          ->group(kEnd);
  app.add_option("--min-delta", minDelta,
                 "How much better the metric has to be for --early-stop to "
                 "begin to count anew")
      ->type_name("X")
      ->check(isNumberFrom(0, kInfinity))
      ->needs(earlyStopOption)
      ->default_str("0")
      ->group(kEnd);
  addParsed(app, "--max-time", parseTime(maxTime),
            "End the run with the step under way when TIME has passed, as if "
            "it were the last: checkpoint, evaluation and outputs follow")
      ->type_name("TIME")
      ->group(kEnd);
  addChoice(app, "--nan", nan, kNanPolicies,
            "A step that is not finite ends the run (stop), changes nothing "
            "(skip; needs ingotc --guard or fp16), or takes the run back to "
            "its last checkpoint with half the learning rate (rollback; needs "
            "--save)")
      ->default_str("stop")
      ->group(kEnd);
  bindHyperparameters(app, manifest);
}

namespace {
/// A setting of --group, the hyperparameter that it sets, and its value where
/// it is not given.
struct GroupSetting {
  const char *key, *hyperparameter;
  double unset;
};
} // namespace

static constexpr GroupSetting kGroupSettings[] = {{"lr", "lr", 1},
                                                  {"decay", "weight_decay", -1},
                                                  {"freeze-until", "start", 0}};

bool ingot::runtime::isOfGroup(const std::string &hyperparameter) {
  return hyperparameter.find('.') != std::string::npos;
}

/// The groups of the trainer, in words.
static std::string listGroups(const Manifest &manifest) {
  std::string names;
  for (const HyperparameterSpec &spec : manifest.hyperparameters)
    if (spec.name.starts_with("start."))
      names += (names.empty() ? "" : ", ") + spec.name.substr(6);
  return names;
}

/// Sets a hyperparameter of a group. Throws usageError.
static void readGroupSetting(std::map<std::string, double> &hyperparameters,
                             CommandLine &line, const std::string &group,
                             const std::string &setting) {
  size_t equals = setting.find('=');
  std::string key = setting.substr(0, equals);
  for (const GroupSetting &known : kGroupSettings) {
    auto found =
        hyperparameters.find(std::string(known.hyperparameter) + "." + group);
    if (key != known.key || equals == std::string::npos ||
        found == hyperparameters.end())
      continue;
    double value = 0;
    int64_t steps = 0;
    std::string text = setting.substr(equals + 1);
    bool isCount = std::string_view(known.hyperparameter) == "start";
    bool isValue = isCount ? parseWhole(text, steps) : parseWhole(text, value);
    if (isCount)
      value = static_cast<double>(steps);
    if (!isValue || !(value >= 0) || value == kInfinity)
      throw usageError("--group",
                       fmt::format("'{}' of {} is not a {} from 0 on", text,
                                   key, isCount ? "number of steps" : "number"),
                       "as in --group " + group +
                           ":lr=0.1,decay=0,freeze-until=100");
    found->second = value;
    line.given.insert(getFlag(found->first));
    return;
  }
  throw usageError("--group", "unknown setting '" + setting + "'",
                   "write --group " + group +
                       ":lr=FACTOR,decay=X,freeze-until=STEP; decay needs an "
                       "optimizer with weight decay");
}

/// Sets the hyperparameters of groups from words like
/// `head:lr=0.1,decay=0,freeze-until=100`. Throws usageError.
static void readGroups(std::map<std::string, double> &hyperparameters,
                       CommandLine &line, const std::vector<std::string> &words,
                       const Manifest &manifest) {
  for (const std::string &word : words) {
    size_t colon = word.find(':');
    std::string group = word.substr(0, colon);
    std::string names = listGroups(manifest);
    if (!hyperparameters.count("start." + group))
      throw usageError("--group", "there is no group '" + group + "'",
                       names.empty()
                           ? "compile the model with ingotc --group NAME=REGEX"
                           : "the groups are " + names);
    std::string rest = colon == std::string::npos ? "" : word.substr(colon + 1);
    do {
      size_t comma = rest.find(',');
      readGroupSetting(hyperparameters, line, group, rest.substr(0, comma));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    } while (!rest.empty());
  }
}

/// The weight decay of norms and biases; absent where none of them decays.
static constexpr const char *kVectorDecay = "weight_decay.norms+biases";

void RunOptions::finish(CommandLine &line, const Manifest &manifest) {
  readGroups(hyperparameters, line, groups, manifest);
  auto found = hyperparameters.find(kVectorDecay);
  if (!keepsVectors || found == hyperparameters.end())
    return;
  found->second = 0;
  line.given.insert(getFlag(kVectorDecay));
}

bool ingot::runtime::haveVectorsNoDecay(
    const std::map<std::string, double> &hyperparameters) {
  auto found = hyperparameters.find(kVectorDecay);
  return found != hyperparameters.end() && found->second == 0;
}

std::vector<std::string> ingot::runtime::formatGroups(
    const std::map<std::string, double> &hyperparameters) {
  std::vector<std::string> words;
  for (const auto &[name, value] : hyperparameters) {
    if (!name.starts_with("start."))
      continue;
    std::string group = name.substr(6), settings;
    for (const GroupSetting &known : kGroupSettings) {
      auto found =
          hyperparameters.find(std::string(known.hyperparameter) + "." + group);
      if (found != hyperparameters.end() && found->second != known.unset)
        settings += fmt::format("{}{}={}", settings.empty() ? ":" : ",",
                                known.key, found->second);
    }
    if (!settings.empty())
      words.push_back(group + settings);
  }
  return words;
}

/// Whether steps of the trainer can leave the model as it is.
static bool canSkip(const Manifest &manifest) {
  const FunctionSpec *step = manifest.findFunction("train_step");
  return step && step->findOutput("skipped");
}

void RunOptions::check(const Manifest &manifest) const {
  if (nan == NanPolicy::Skip && !canSkip(manifest))
    throw usageError("--nan", "this trainer cannot skip the update of a step",
                     "compile the model with ingotc --guard");
}
