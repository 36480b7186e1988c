// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trainer's command line.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options/TrainerOptions.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/ConfigFile.h"
#include "runtime/core/commandline/HelpFormatter.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/data/sequences/SequenceInputs.h"
#include "runtime/trainer/options/Hyperparameters.h"
#include "runtime/trainer/options/OptionErrors.h"
#include "runtime/trainer/options/RunOptions.h"
#include "runtime/trainer/options/TuneOption.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>

using namespace ingot::runtime;

namespace {

/// The table of options, from which the parser and --help are made.
class OptionTable {
public:
  OptionTable(Options &options, const Manifest &manifest);
  CLI::App app;
  /// The values of --input and --workers, which are parsed afterwards.
  std::vector<std::string> inputs, groups;
  std::string workers = "auto";

  /// Makes recipes of what the command line says of inputs.
  void finishInputs(Options &options, const Manifest &manifest);

private:
  void addData(Options &options);
  void addFiles(Options &options);
  void addSaving(Options &options);
  void addObserving(Options &options);
};

} // namespace

/// The variables of the environment that a trainer reads.
static constexpr EnvironmentVariable kVariables[] = {
    {"OMP_NUM_THREADS", "Threads [the processors that the process may use]"},
    {"OMP_PLACES, OMP_PROC_BIND", "Processors that threads are bound to"},
    {"INGOT_MAX_ISA",
     "Leave out instructions above this level, such as x86-64-v3"},
    {"RANK, WORLD_SIZE",
     "Ranks as torchrun names them; mpirun's and Slurm's are known too"},
    {"TMPDIR", "Where compressed shards are unpacked [/tmp]"},
    {"NO_COLOR", "Messages without color"},
    {"TERM", "A progress line only on a terminal that can redraw it"},
    {"CUDA_VISIBLE_DEVICES", "On GPUs: those that ranks may use"},
    {"CUDA_HOME", "On GPUs: where CUDA's libraries are"},
    {"INGOT_CUDA_GRAPH", "On GPUs: 0 launches kernels one by one"},
    {"XDG_CACHE_HOME, HOME", "The user's cache, for --tune"},
};

/// More threads than any machine has cores.
static constexpr int64_t kMostWorkers = 256;
static constexpr int64_t kMostMiB = INT64_MAX >> 20;
/// A queue has a batch that is read beside those that are made.
static constexpr int64_t kFewestBatches = 2, kMostBatches = 1024;

void OptionTable::addData(Options &options) {
  std::string group = "Data";
  app.add_option("--data", options.data,
                 "Training data: .npz files with one array per input (first "
                 "axis = samples), .npy for a model with one input, .bin token "
                 "files, .tar, .arrow, .parquet, .jsonl or .csv shards, or "
                 "folders DIR/CLASS/FILE of pictures; FILE:WEIGHT mixes "
                 "sources")
      ->type_name("FILE...")
      ->group(group);
  app.add_option("--eval-data", options.evalData, "Evaluation data, likewise")
      ->type_name("FILE...")
      ->group(group);
  app.add_option("--eval-every", options.evalEvery,
                 "Evaluate every N steps instead of after each epoch")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(group);
  app.add_option("--input", inputs,
                 "How an input is made of a field of the samples, as in "
                 "image=decode,resize:32,crop:28,flip,normalize:imagenet; "
                 "once for each input")
      ->type_name("NAME=STEPS")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--pack", options.pack,
               "Put several sequences into each row; the inputs of the model "
               "are told apart by shape and name, unless --input says more")
      ->disable_flag_override()
      ->group(group);
  app.add_option("--batch-tokens", options.batchTokens,
                 "The most tokens of a step, padding and all ranks included: "
                 "of each length, the largest batch that keeps to it; for "
                 "trainers with several, as of --dim batch=16,8,4")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(group);
  app.add_option("--workers", workers,
                 "Threads that make batches ahead of the step; 0 makes them "
                 "between steps, auto adds threads while steps wait")
      ->type_name("N|auto")
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            int64_t value = 0;
            if (text == "auto" || (parseWhole(text, value) && value >= 0 &&
                                   value <= kMostWorkers))
              return {};
            return fmt::format("'{}' is neither auto nor an integer from 0 to "
                               "{}",
                               text, kMostWorkers);
          },
          ""))
      ->capture_default_str()
      ->group(group);
  app.add_option("--prefetch", options.prefetch,
                 "Batches that these threads make ahead [2 to 8, as fit 64 "
                 "MiB]")
      ->type_name("N")
      ->check(isIntegerFrom(kFewestBatches, kMostBatches))
      ->group(group);
  CLI::Option *cache =
      app.add_option("--cache", options.cache,
                     "Keep decoded and resized pictures in this folder, for "
                     "the next epochs and other runs")
          ->type_name("DIR")
          ->group(group);
  app.add_option("--cache-mb", options.cacheMiB,
                 "The most MiB of pictures in the folder of --cache")
      ->type_name("N")
      ->check(isIntegerFrom(1, kMostMiB))
      ->needs(cache)
      ->capture_default_str()
      ->group(group);
  app.add_option("--skip-bad", options.skipBad,
                 "Samples and files that may be bad and are left out")
      ->type_name("N")
      ->check(atLeast(0))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--no-shuffle", options.noShuffle,
               "Take samples in the order of the files")
      ->disable_flag_override()
      ->group(group);
}

void OptionTable::addFiles(Options &options) {
  std::string group = "Files";
  addConfigOptions(app, options.printConfig, group);
  app.add_option("--init", options.init, "Start from these weights")
      ->type_name("FILE.safetensors")
      ->group(group);
  app.add_option("--export", options.exportPath,
                 "Write the trained model as ONNX, or its weights alone if the "
                 "name ends in .safetensors")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--export-weights", options.exportWeights,
                 "Export and predict with the weights of the best evaluation "
                 "or of the last step [best with --best or --early-stop, else "
                 "last]")
      ->type_name("best|last")
      ->check(CLI::IsMember({"best", "last"}))
      ->group(group);
  app.add_option("--predict", options.predict,
                 "Write the model's outputs for --eval-data")
      ->type_name("FILE.npz")
      ->group(group);
}

void OptionTable::addSaving(Options &options) {
  std::string group = "Checkpoints";
  CLI::Option *save = app.add_option("--save", options.save,
                                     "Write checkpoints into this folder")
                          ->type_name("DIR")
                          ->group(group);
  app.add_option("--save-every", options.saveEvery,
                 "Save every N steps, not only at the end")
      ->type_name("N")
      ->check(atLeast(1))
      ->needs(save)
      ->group(group);
  app.add_flag("--overwrite", options.overwrite,
               "Remove the checkpoints of an earlier run from the folder of "
               "--save when this one begins")
      ->needs(save)
      ->disable_flag_override()
      ->group(group);
  app.add_option("--keep", options.keep, "Keep the newest N checkpoints")
      ->type_name("N")
      ->check(atLeast(1))
      ->capture_default_str()
      ->group(group);
  app.add_option("--best", options.best,
                 "Also keep the checkpoint whose evaluation was best by this "
                 "metric, such as eval_loss or eval_accuracy; --early-stop "
                 "follows it as well")
      ->type_name("METRIC")
      ->group(group);
  app.add_option("--resume", options.resume,
                 "Continue from the latest checkpoint in this folder")
      ->type_name("DIR")
      ->excludes("--init")
      ->group(group);
}

void OptionTable::addObserving(Options &options) {
  std::string group = "Observing";
  CLI::Option *log =
      app.add_option("--log", options.log, "Write a line of JSON per step")
          ->type_name("FILE.jsonl")
          ->group(group);
  app.add_option("--log-every", options.logEvery,
                 "Write a line for every N-th step only; if it is given, such "
                 "steps also print one where there is no terminal")
      ->type_name("N")
      ->check(atLeast(1))
      ->capture_default_str()
      ->group(group);
  app.add_option("--log-max-mb", options.logMostMb,
                 "A log of N MiB becomes FILE.1, in place of the one "
                 "before, and begins anew")
      ->type_name("N")
      ->check(isIntegerFrom(1, kMostMiB))
      ->needs(log)
      ->group(group);
  CLI::Option *profile =
      app.add_option("--profile", options.profile,
                     "Write a trace for Perfetto or chrome://tracing, and "
                     "print where the time of the steps goes")
          ->type_name("FILE.json")
          ->group(group);
  app.add_option("--profile-steps", options.profileSteps,
                 "Profile ACTIVE steps after WAIT steps and WARMUP steps whose "
                 "profile is dropped, once or REPEAT times; without it, "
                 "all, of a GPU all but the first")
      ->type_name("WAIT:WARMUP:ACTIVE[:REPEAT]")
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            if (ProfileSchedule::parse(text))
              return {};
            return fmt::format("'{}' is not WAIT:WARMUP:ACTIVE[:REPEAT] with "
                               "at least one active step",
                               text);
          },
          ""))
      ->needs(profile)
      ->group(group);
  CLI::Option *tensorboard =
      app.add_option("--tensorboard", options.tensorboard,
                     "Write the log for TensorBoard into this folder")
          ->type_name("DIR")
          ->group(group);
  CLI::Option *histograms =
      app.add_option("--histogram-every", options.histogramEvery,
                     "Write histograms of weights, gradients and updates every "
                     "N steps, and warn of parameters that do not learn")
          ->type_name("N")
          ->check(atLeast(1))
          ->needs(tensorboard)
          ->group(group);
  app.add_option("--watch", options.watch,
                 "Inspect every value that kernels write: nan names the first "
                 "op whose output is not finite, stats ends with a table of "
                 "overflow and underflow (slow)")
      ->type_name("nan|stats")
      ->check(CLI::IsMember({"nan", "stats"}))
      ->excludes(histograms)
      ->group(group);
  app.add_flag("--check-memory", options.checkMemory,
               "Fill memory in which no tensor is live with NaN and check that "
               "kernels do not write there (very slow)")
      ->excludes("--watch")
      ->excludes(histograms)
      ->disable_flag_override()
      ->group(group);
  app.add_flag("--inspect{text}", options.inspect,
               "Print what is planned and exit; --inspect=json for programs")
      ->configurable(false)
      ->group(group);
  app.add_flag("--diagnose{report}", options.diagnose,
               "Measure some steps, say what limits them and what to change, "
               "and exit; --diagnose=apply tries it, --diagnose=json is for "
               "programs")
      ->configurable(false)
      ->group(group);
  app.add_option("--ranks", options.ranks, "Ranks that --inspect plans for")
      ->type_name("N")
      ->check(atLeast(1))
      ->capture_default_str()
      ->configurable(false)
      ->group(group);
  app.add_flag(
         "--tune{cache}", options.tune,
         "Measure alternatives and take the fastest: threads, their "
         "places, --workers and --prefetch before a run on CPUs, how "
         "buckets are joined in the first steps of several ranks there, "
         "kernels and algorithms in those on a GPU; the choices are "
         "kept for later runs, with --tune=FILE in that file. Without it, "
         "algorithms on a GPU are measured and kept; --tune=off leaves "
         "them to the libraries")
      ->group("Run");
  app.add_option("--tune-seconds", options.tuneSeconds,
                 "How long --tune measures: before a run on CPUs, and in the "
                 "first step, without it too, on a GPU (there 10)")
      ->type_name("N")
      ->check(atLeast(1))
      ->capture_default_str()
      ->group("Run");
  app.add_flag("--nondeterministic", options.nondeterministic,
               "A faster gradient of attention, which differs in the last bits "
               "from run to run")
      ->group("GPUs only");
}

OptionTable::OptionTable(Options &options, const Manifest &manifest) {
  app.description("Trains " + manifest.model + " (" + manifest.optimizer +
                  ", " + manifest.precision + ", batch " +
                  std::to_string(manifest.batch) + ").");
  app.set_help_flag("-h,--help", "Print this and exit");
  app.set_version_flag("--version", manifest.producer,
                       "Print the version and exit");
  app.formatter(std::make_shared<HelpFormatter>(
      std::vector(std::begin(kVariables), std::end(kVariables))));
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  addData(options);
  addRunOptions(app, options, manifest);
  addHyperparameters(app, options, manifest);
  app.add_option("--group", groups,
                 "For the parameters of a group (ingotc --group): a factor of "
                 "the learning rate, the weight decay, the steps for which "
                 "they stay as they are")
      ->type_name("NAME:lr=X,decay=X,freeze-until=N")
      ->group("Hyperparameters");
  if (manifest.findState("loss_scale"))
    app.add_option("--loss-scale", options.lossScale,
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
        ->group("Hyperparameters");
  if (manifest.dataParallel) {
    app.add_option("--comm-timeout", options.commTimeout,
                   "Seconds that ranks wait for each other before they give up")
        ->type_name("SECONDS")
        ->check(atLeast(1))
        ->capture_default_str()
        ->group("Run");
    app.add_option("--comm-record", options.commRecord,
                   "If the run fails, each rank writes its last collectives to "
                   "PREFIX.RANK.jsonl")
        ->type_name("PREFIX")
        ->group("Observing");
  }
  addFiles(options);
  addSaving(options);
  addObserving(options);
  app.get_option("--input")->take_all();
  app.get_option("--group")->take_all();
  for (const char *name : {"--data", "--eval-data"})
    app.get_option(name)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

/// Parses the recipes of the inputs.
static Recipes parseRecipes(const std::vector<std::string> &words,
                            const Manifest &manifest) {
  Recipes recipes;
  for (const std::string &word : words) {
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals), known;
    bool isKnown = false;
    for (const FunctionSpec &function : manifest.functions)
      for (const InputSpec &input : function.inputs) {
        if (!input.isBatched())
          continue;
        isKnown |= input.name == name;
        if (&function == &manifest.functions.front())
          known += (known.empty() ? "" : ", ") + input.name;
      }
    if (equals == std::string::npos || !isKnown)
      throw usageError("--input",
                       equals == std::string::npos
                           ? "'" + word + "' is not NAME=STEPS"
                           : "the model has no input '" + name + "'",
                       "the inputs are " + known +
                           "; write --input NAME=decode,resize:32,crop:28");
    if (!recipes.emplace(name, Recipe::parse(name, word.substr(equals + 1)))
             .second)
      throw usageError("--input", "'" + name + "' has two recipes",
                       "give one for each input");
  }
  return recipes;
}

static void checkTogether(const Options &options) {
  if (!options.inspect.empty()) {
    if (options.inspect != "text" && options.inspect != "json")
      throw usageError("--inspect", "'" + options.inspect + "' is not a format",
                       "use --inspect or --inspect=json");
    return;
  }
  if (options.evaluate && options.evalData.empty())
    throw usageError("--evaluate", "needs --eval-data",
                     "give --eval-data FILE.npz");
  if (options.data.empty() && !options.evaluatesOnly())
    throw usageError("--data", "no training data",
                     "give --data FILE.npz, or --evaluate to evaluate only");
  if (options.evalData.empty() && !options.predict.empty())
    throw usageError("--predict", "needs --eval-data",
                     "give --eval-data FILE.npz with the samples to predict");
  if (options.evalData.empty() && options.evalEvery)
    throw usageError("--eval-every", "needs --eval-data",
                     "give --eval-data FILE.npz");
}

/// Turns off everything in a run except its evaluation: outputs of steps are
/// not opened.
static void limitToEvaluation(Options &options) {
  options.steps = 0;
  options.epochs.reset();
  options.data.clear();
  options.save.clear();
  options.evalEvery.reset();
  options.saveEvery.reset();
  options.earlyStop.reset();
  options.best.clear();
  options.exportWeights.clear();
  options.nanText.clear();
  for (const char *option : {"--data", "--save", "--eval-every", "--early-stop",
                             "--best", "--export-weights"})
    options.given.erase(option);
}

static constexpr const char *kInherited[] = {"best",
                                             "early-stop",
                                             "eval-batches",
                                             "eval-data",
                                             "eval-every",
                                             "export-weights",
                                             "input",
                                             "keep",
                                             "min-delta",
                                             "nan",
                                             "nondeterministic",
                                             "pack",
                                             "save-every",
                                             "shuffle-window",
                                             "token-offsets"};

bool ingot::runtime::isInherited(const std::string &name) {
  return std::find(std::begin(kInherited), std::end(kInherited), name) !=
         std::end(kInherited);
}

void OptionTable::finishInputs(Options &options, const Manifest &manifest) {
  options.recipes = parseRecipes(inputs, manifest);
  if (const FunctionSpec *step = manifest.findFunction("train_step");
      options.pack && step)
    addPackedRecipes(step->inputs, options.recipes);
}

void ingot::runtime::setInherited(
    Options &options, const Manifest &manifest,
    const std::map<std::string, std::vector<std::string>> &words) {
  // The table begins with the values of the manifest.
  auto hyperparameters = options.hyperparameters;
  OptionTable table(options, manifest);
  options.hyperparameters = std::move(hyperparameters);
  // What they need has been seen to.
  for (const CLI::Option *option : table.app.get_options())
    for (CLI::Option *other : option->get_needs())
      table.app.get_option(option->get_name())->remove_needs(other);
  std::vector<std::string> line;
  for (const auto &[name, values] : words)
    for (const std::string &value : values)
      line.push_back(value == "true" ? "--" + name : "--" + name + "=" + value);
  // CLI11 takes words from the end.
  std::reverse(line.begin(), line.end());
  try {
    table.app.parse(std::move(line));
  } catch (const CLI::ParseError &error) {
    throw badInput("--resume",
                   std::string("the checkpoint's run has other options than "
                               "this trainer: ") +
                       error.what(),
                   "resume with the trainer that saved it, or give the option");
  }
  if (words.count("input") || words.count("pack"))
    table.finishInputs(options, manifest);
  finishRunOptions(options, manifest);
}

ParsedOptions ingot::runtime::parseOptions(int argc, const char *const *argv,
                                           const Manifest &manifest) {
  Options options;
  options.commandLine.assign(argv, argv + argc);
  OptionTable table(options, manifest);
  table.app.allow_extras();
  refuseEmptyWords(argc, argv);
  try {
    table.app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    return {std::nullopt, table.app.help()};
  } catch (const CLI::CallForVersion &version) {
    return {std::nullopt, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError &error) {
    throw explainParseError(error);
  }
  std::vector<std::string> extras = table.app.remaining();
  if (!extras.empty())
    throw explainUnknown(extras.front(), manifest, table.app);
  for (const CLI::Option *option : table.app.get_options())
    if (option->count() > 0)
      options.given.insert(option->get_name());
  if (options.isGiven("--config"))
    options.config = table.app.get_config_ptr()->as<std::string>();
  table.finishInputs(options, manifest);
  readGroups(options, table.groups, manifest);
  readDecay(options);
  if (int64_t workers = 0; parseWhole(table.workers, workers))
    options.workers = workers;
  if (auto schedule = ProfileSchedule::parse(options.profileSteps))
    options.profileSchedule = *schedule;
  options.configuration = collectConfiguration(table.app);
  if (options.printConfig)
    return {std::nullopt, formatConfiguration(options.configuration)};
  checkTogether(options);
  if (options.evaluate && options.inspect.empty())
    limitToEvaluation(options);
  options.checkpoints = options.save;
  for (const auto &[name, values] : options.configuration)
    if (isInherited(name) && options.isGiven("--" + name))
      options.shaping[name] = values;
  finishRunOptions(options, manifest);
  if (!options.diagnose.empty())
    limitToDiagnosis(options);
  readTune(options, manifest);
  return {std::move(options), ""};
}

void ingot::runtime::checkRanks() {
  for (const char *name :
       {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}) {
    const char *value = std::getenv(name);
    if (value && std::strtol(value, nullptr, 10) > 1)
      throw usageError(name,
                       std::string(value) +
                           " ranks, but this trainer runs on one: it was "
                           "compiled without --data-parallel",
                       "compile the model with ingotc --data-parallel, or run "
                       "one rank");
  }
}
