// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trainer's command line.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/options/TrainerOptions.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/Completion.h"
#include "runtime/core/commandline/ConfigFile.h"
#include "runtime/core/commandline/HelpFormatter.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/core/commandline/Suggestions.h"
#include "runtime/trainer/options/OptionErrors.h"
#include "runtime/trainer/options/phases/Hyperparameters.h"

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
  bool printsConfig = false;
};

} // namespace

/// The variables of the environment that a trainer reads.
static constexpr EnvironmentVariable kVariables[] = {
    {"OMP_NUM_THREADS", "Threads, where --threads is not given"},
    {"OMP_PLACES, OMP_PROC_BIND", "Processors that threads are bound to"},
    {"INGOT_MAX_ISA",
     "Leave out instructions above this level, such as x86-64-v3"},
    {"RANK, WORLD_SIZE",
     "Ranks as torchrun names them; mpirun's and Slurm's are known too"},
    {"MASTER_ADDR, MASTER_PORT",
     "Host of rank 0, and the port before the one where ranks meet over TCP"},
    {"INGOT_MPI", "The library of MPI to load [that of the launcher]"},
    {"TMPDIR", "Where compressed shards are unpacked [/tmp]"},
    {"NO_COLOR", "Messages without color"},
    {"TERM", "A progress line only on a terminal that can redraw it"},
    {"CUDA_VISIBLE_DEVICES", "On GPUs: those that ranks may use"},
    {"CUDA_HOME", "On GPUs: where CUDA's libraries are"},
    {"INGOT_CUDA_GRAPH", "On GPUs: 0 launches kernels one by one"},
    {"XDG_CACHE_HOME, HOME", "The user's cache, for --tune"},
};

OptionTable::OptionTable(Options &options, const Manifest &manifest) {
  app.description("Trains " + manifest.model + " (" + manifest.optimizer +
                  ", " + manifest.precision + ", batch " +
                  std::to_string(manifest.batch) + ").");
  app.set_help_flag("-h,--help", "Print this and exit");
  app.set_version_flag("--version", manifest.producer,
                       "Print the version and exit");
  app.formatter(std::make_shared<HelpFormatter>(
      std::vector(std::begin(kVariables), std::end(kVariables))));
  app.footer("Examples:\n"
             "  TRAINER --data train.npz --eval-data eval.npz --epochs 3 \\\n"
             "    --schedule cosine --warmup 5% --save run --log run.jsonl \\\n"
             "    --export trained.onnx\n"
             "  TRAINER --data train.npz --eval-data eval.npz --resume run \\\n"
             "    --save run --epochs 5\n"
             "  TRAINER --eval-data eval.npz --resume run --evaluate");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  addCompletionOption(app);
  // The help has groups, and options in them, in this order.
  options.data.bind(app, manifest);
  options.run.bind(app, manifest);
  if (manifest.dataParallel)
    options.ranks.bind(app);
  addConfigOptions(app, printsConfig, "Files");
  options.save.bindFiles(app);
  if (!manifest.adapters.empty())
    options.save.bindAdapters(app);
  options.save.bindCheckpoints(app);
  options.observe.bind(app);
  options.report.bind(app);
  options.tune.bind(app);
}

/// Throws usageError if options are missing that others need.
static void checkNeeds(const Options &options) {
  const DataOptions &data = options.data;
  if (options.run.evaluate && data.evaluation.empty())
    throw usageError("--evaluate", "needs --eval-data",
                     "give --eval-data FILE.npz");
  if (data.training.empty() && options.run.calibrate)
    throw usageError("--calibrate", "needs --data",
                     "give --data FILE.npz with samples like those of use");
  if (data.training.empty() && !options.run.evaluatesOnly())
    throw usageError("--data", "no training data",
                     "give --data FILE.npz, or --evaluate to evaluate only");
  if (data.evaluation.empty() && options.save.predict)
    throw usageError("--predict", "needs --eval-data",
                     "give --eval-data FILE.npz with the samples to predict");
  if (options.line.isGiven("--ranks"))
    throw usageError("--ranks", "is for --inspect",
                     "add --inspect; a run has as many ranks as mpirun -n N, "
                     "torchrun or Slurm starts");
  if (data.evaluation.empty() && data.evalEvery)
    throw usageError("--eval-every", "needs --eval-data",
                     "give --eval-data FILE.npz");
}

void Options::check(const Manifest &manifest) const {
  run.check(manifest);
  if (run.nan == NanPolicy::Rollback && save.checkpoints.empty())
    throw usageError("--nan", "rollback needs checkpoints",
                     "give --save DIR, and --save-every N");
  data.check();
  for (auto [option, isGiven] :
       {std::pair("--early-stop", run.earlyStop.has_value()),
        std::pair("--best", save.best.has_value()),
        std::pair("--export-weights",
                  save.exportWeights == ExportWeights::Best)})
    if (data.evaluation.empty() && isGiven)
      throw usageError(option, "needs --eval-data",
                       "give --eval-data FILE.npz");
}

/// Turns off everything in a run except its evaluation: outputs of steps are
/// not opened.
static void limitToEvaluation(Options &options) {
  options.run.steps = 0;
  options.run.epochs.reset();
  options.run.earlyStop.reset();
  options.run.nan = NanPolicy::Stop;
  if (!options.run.calibrate)
    options.data.training.clear();
  options.data.evalEvery.reset();
  options.save.save.reset();
  options.save.saveEvery.reset();
  options.save.best.reset();
  options.save.exportWeights.reset();
}

/// The options that limitToEvaluation() turns off, as far as a user who gives
/// them may wait for what they do.
static constexpr const char *kOfTraining[] = {"--steps",
                                              "--epochs",
                                              "--eval-every",
                                              "--early-stop",
                                              "--min-delta",
                                              "--nan",
                                              "--best",
                                              "--export-weights",
                                              "--save",
                                              "--keep",
                                              "--save-every",
                                              "--overwrite",
                                              "--histogram-every",
                                              "--max-time"};

std::string ingot::runtime::listWithoutEffect(const Options &options) {
  std::string names;
  if (!options.run.evaluate)
    return names;
  // A configuration is that of the run that is evaluated.
  const std::vector<std::string> &words = options.line.words;
  for (std::string name : kOfTraining) {
    auto isGiven = [&](const std::string &word) {
      return word == name || word.starts_with(name + "=");
    };
    bool asks = std::any_of(words.begin(), words.end(), isGiven);
    // No step is what --evaluate means.
    if (name == "--steps" || name == "--epochs")
      if (auto value = options.line.configuration.find(name.substr(2));
          value != options.line.configuration.end() &&
          value->second == std::vector<std::string>{"0"})
        asks = false;
    if (asks)
      names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

/// Turns off evaluations and files of results.
static void limitToMeasuring(Options &options) {
  options.observe.writeNothing();
  options.observe.histogramEvery.reset();
  options.data.dropEvaluation();
  options.run.earlyStop.reset();
  options.save.best.reset();
}

/// Turns off the outputs of a run with --diagnose, except checkpoints, which go
/// to a folder of their own (Checkpointing). Throws usageError.
static void limitToDiagnosis(Options &options) {
  if (options.data.training.empty())
    throw usageError("--diagnose", "needs --data",
                     "give the data of the run to diagnose");
  limitToMeasuring(options);
  options.save.writeNothing(/*keepsShards=*/true);
  if (options.run.nan == NanPolicy::Rollback)
    options.run.nan = NanPolicy::Stop;
}

/// Turns off everything in a run except its steps, which are timed. Throws
/// usageError.
static void limitToSteps(Options &options) {
  if (options.data.training.empty())
    throw usageError("--tune", "needs --data",
                     "give the data of the run to tune");
  limitToMeasuring(options);
  options.save.writeNothing(/*keepsShards=*/false);
  options.save.saveEvery.reset();
  options.observe.watch.reset();
  options.observe.checkMemory = false;
  options.run.nan = NanPolicy::Stop;
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

void ingot::runtime::setInherited(
    Options &options, const Manifest &manifest,
    const std::map<std::string, std::vector<std::string>> &words) {
  OptionTable table(options, manifest);
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
  options.data.finish(manifest);
  options.check(manifest);
}

/// Completes --tune, which depends on what else is asked for. Throws
/// usageError.
static void finishTuning(Options &options, const Manifest &manifest,
                         bool isProfiled) {
  bool isDiagnosed = options.report.diagnose.has_value();
  TuneOptions &tune = options.tune;
  tune.setDefaults(options.line, manifest, isDiagnosed || isProfiled);
  if (tune.isAsked && (isDiagnosed || isProfiled))
    throw usageError("--tune",
                     isDiagnosed ? "cannot be combined with --diagnose"
                                 : "cannot be combined with --profile",
                     "tune in a run of its own: the choices are kept");
  if (tune.measureSeconds)
    limitToSteps(options);
}

ParsedOptions ingot::runtime::parseOptions(int argc, const char *const *argv,
                                           const Manifest &manifest) {
  Options options;
  CommandLine &line = options.line;
  line.words.assign(argv, argv + argc);
  options.run.setDefaults(manifest);
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
      line.given.insert(option->get_name());
  if (line.isGiven("--config"))
    line.config = table.app.get_config_ptr()->as<std::string>();
  options.data.finish(manifest);
  options.run.finish(line, manifest);
  line.configuration = collectConfiguration(table.app);
  if (table.printsConfig)
    return {std::nullopt, formatConfiguration(line.configuration)};
  if (!options.report.inspect)
    checkNeeds(options);
  if (options.run.evaluate && !options.report.inspect)
    limitToEvaluation(options);
  options.save.checkpoints = options.save.save.value_or("");
  for (const auto &[name, values] : line.configuration)
    if (isInherited(name) && line.isGiven("--" + name))
      line.shaping[name] = values;
  options.check(manifest);
  bool isProfiled = options.observe.profile.has_value();
  if (options.report.diagnose)
    limitToDiagnosis(options);
  finishTuning(options, manifest, isProfiled);
  return {std::move(options), ""};
}

/// Describes a trainer that has all options.
static Manifest describeAllOptions() {
  Manifest manifest;
  manifest.dataParallel = true;
  manifest.states.emplace_back().name = "loss_scale";
  for (const KnownHyperparameter &known : getKnownHyperparameters())
    manifest.hyperparameters.push_back({known.name, 0});
  return manifest;
}

std::vector<std::string> ingot::runtime::listTrainerOptions() {
  Options options;
  return listOptions(OptionTable(options, describeAllOptions()).app);
}

void ingot::runtime::viewTrainerOptions(
    const std::function<void(const CLI::App &,
                             const std::vector<EnvironmentVariable> &)> &view) {
  Options options;
  OptionTable table(options, describeAllOptions());
  // Defaults of hyperparameters are those of the optimizer.
  for (const KnownHyperparameter &known : getKnownHyperparameters())
    table.app.get_option(getFlag(known.name))->default_str("");
  table.app.description("Trains the model that ingotc compiled into it. "
                        "TRAINER --help has the options of that one, which "
                        "may be fewer.");
  view(table.app, {std::begin(kVariables), std::end(kVariables)});
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
