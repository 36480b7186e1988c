// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/RunOptions.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/trainer/options/Hyperparameters.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

using namespace ingot::runtime;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr const char *kData = "Data", *kRun = "Run",
                            *kEnd = "When to stop";

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

static CLI::Validator isValueOf(const std::string &hyperparameter) {
  return CLI::Validator(
      [hyperparameter](std::string &text) {
        return checkHyperparameter(hyperparameter, text);
      },
      "");
}

static CLI::Validator isNormsAndBiases() {
  return CLI::Validator(
      [](const std::string &text) -> std::string {
        if (text == "norms-and-biases")
          return {};
        return fmt::format("'{}' is not norms-and-biases: other parameters "
                           "are compiled in, with ingotc --no-decay or --group",
                           text);
      },
      "");
}

void ingot::runtime::addHyperparameters(CLI::App &app, Options &options,
                                        const Manifest &manifest) {
  for (const HyperparameterSpec &spec : manifest.hyperparameters) {
    double &value = options.hyperparameters[spec.name];
    value = spec.value;
    if (isOfGroup(spec.name))
      continue;
    const KnownHyperparameter *known = findKnownHyperparameter(spec.name);
    app.add_option(getFlag(spec.name), value,
                   known ? known->description
                         : "Hyperparameter of the optimizer")
        ->type_name("X")
        ->check(isValueOf(spec.name))
        ->default_str(fmt::format("{}", spec.value))
        ->group("Hyperparameters");
  }
  if (manifest.findHyperparameter("weight_decay"))
    app.add_option("--no-decay", options.noDecay,
                   "Parameters without weight decay: those of norms and "
                   "biases; for others, ingotc --no-decay REGEX or --group")
        ->type_name("norms-and-biases")
        ->check(isNormsAndBiases())
        ->group("Hyperparameters");
}

static void addParts(CLI::App &app, Options &options) {
  app.add_option("--eval-batches", options.evalBatches,
                 "Evaluate N batches of the evaluation data, spread evenly "
                 "over it and the same each time, instead of all")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(kData);
  app.add_option("--shuffle-window", options.shuffleWindow,
                 "Take each sample that comes through a pipe at random of N "
                 "that have come [in the order in which they come]")
      ->type_name("N")
      ->check(atLeast(2))
      ->group(kData);
  app.add_option("--token-offsets", options.tokenOffsets,
                 "Where samples of .bin files begin: at multiples of their "
                 "length (fixed), or each anywhere (random) [at multiples of "
                 "their length, which move by as many tokens as are drawn for "
                 "each epoch from the second on; fixed with --no-shuffle]")
      ->type_name("fixed|random")
      ->check(CLI::IsMember(std::vector<std::string>{"fixed", "random"}))
      ->group(kData);
}

void ingot::runtime::addRunOptions(CLI::App &app, Options &options,
                                   const Manifest &manifest) {
  app.footer("Examples:\n"
             "  TRAINER --data train.npz --eval-data eval.npz --epochs 3 \\\n"
             "    --schedule cosine --warmup 5% --save run --log run.jsonl \\\n"
             "    --export trained.onnx\n"
             "  TRAINER --data train.npz --eval-data eval.npz --resume run \\\n"
             "    --save run --epochs 5\n"
             "  TRAINER --eval-data eval.npz --resume run --evaluate");
  addParts(app, options);
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
  app.add_flag("--evaluate", options.evaluate,
               "Evaluate, and take no step: the weights of --resume or --init, "
               "or those of the model")
      ->disable_flag_override()
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
                 "weights: the decay of the average, such as 0.999")
      ->type_name("DECAY")
      ->check(isNumberFrom(0, 1))
      ->group(kRun);
  CLI::Option *earlyStop =
      app.add_option("--early-stop", options.earlyStop,
                     "End the run after N evaluations in a row in which --best "
                     "METRIC was no better")
          ->type_name("N")
          ->check(atLeast(1))
          ->group(kEnd);
  app.add_option("--min-delta", options.minDelta,
                 "How much better the metric has to be for --early-stop to "
                 "begin to count anew")
      ->type_name("X")
      ->check(isNumberFrom(0, kInfinity))
      ->needs(earlyStop)
      ->default_str("0")
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

static void readGroupSetting(Options &options, const std::string &group,
                             const std::string &setting) {
  size_t equals = setting.find('=');
  std::string key = setting.substr(0, equals);
  for (const GroupSetting &known : kGroupSettings) {
    auto found = options.hyperparameters.find(
        std::string(known.hyperparameter) + "." + group);
    if (key != known.key || equals == std::string::npos ||
        found == options.hyperparameters.end())
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
    options.given.insert(getFlag(found->first));
    return;
  }
  throw usageError("--group", "unknown setting '" + setting + "'",
                   "write --group " + group +
                       ":lr=FACTOR,decay=X,freeze-until=STEP; decay needs an "
                       "optimizer with weight decay");
}

void ingot::runtime::readGroups(Options &options,
                                const std::vector<std::string> &words,
                                const Manifest &manifest) {
  for (const std::string &word : words) {
    size_t colon = word.find(':');
    std::string group = word.substr(0, colon);
    std::string names = listGroups(manifest);
    if (!options.hyperparameters.count("start." + group))
      throw usageError("--group", "there is no group '" + group + "'",
                       names.empty()
                           ? "compile the model with ingotc --group NAME=REGEX"
                           : "the groups are " + names);
    std::string rest = colon == std::string::npos ? "" : word.substr(colon + 1);
    do {
      size_t comma = rest.find(',');
      readGroupSetting(options, group, rest.substr(0, comma));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    } while (!rest.empty());
  }
}

/// The weight decay of norms and biases; absent where none of them decays.
static constexpr const char *kVectorDecay = "weight_decay.norms+biases";

void ingot::runtime::readDecay(Options &options) {
  auto found = options.hyperparameters.find(kVectorDecay);
  if (options.noDecay.empty() || found == options.hyperparameters.end())
    return;
  found->second = 0;
  options.given.insert(getFlag(kVectorDecay));
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
  if (options.nan == NanPolicy::Skip && !canSkip(manifest))
    throw usageError("--nan", "this trainer cannot skip the update of a step",
                     "compile the model with ingotc --guard");
  if (options.nan == NanPolicy::Rollback && options.checkpoints.empty())
    throw usageError("--nan", "rollback needs checkpoints",
                     "give --save DIR, and --save-every N");
  if (options.evalData.empty() && options.evalBatches)
    throw usageError("--eval-batches", "needs --eval-data",
                     "give --eval-data FILE.npz");
  if (options.noShuffle && options.shuffleWindow)
    throw usageError("--shuffle-window", "excludes --no-shuffle",
                     "leave one of the two out");
  if (options.noShuffle && options.tokenOffsets == "random")
    throw usageError("--token-offsets",
                     "random excludes --no-shuffle, which takes samples as "
                     "they are in the files",
                     "leave one of the two out");
  if (options.evalData.empty())
    for (const char *option : {"--early-stop", "--best"})
      if (options.isGiven(option))
        throw usageError(option, "needs --eval-data",
                         "give --eval-data FILE.npz");
  if (options.evalData.empty() && options.exportWeights == "best")
    throw usageError("--export-weights", "needs --eval-data",
                     "give --eval-data FILE.npz");
}

void ingot::runtime::limitToDiagnosis(Options &options) {
  constexpr std::array known = {"report", "apply", "json"};
  if (std::find(known.begin(), known.end(), options.diagnose) == known.end())
    throw usageError("--diagnose", "'" + options.diagnose + "' is not known",
                     "use --diagnose, --diagnose=apply or --diagnose=json");
  if (options.data.empty())
    throw usageError("--diagnose", "needs --data",
                     "give the data of the run to diagnose");
  options.writeNothing(/*hasShards=*/true);
  options.evalData.clear();
  options.evalEvery.reset();
  options.earlyStop.reset();
  options.best.clear();
  options.histogramEvery.reset();
  for (const char *option : {"--eval-data", "--eval-every", "--best"})
    options.given.erase(option);
  // They go to a folder of this process (Trainer), which is not the user's.
  options.given.erase("--save");
  if (options.nan == NanPolicy::Rollback)
    options.nan = NanPolicy::Stop;
}
