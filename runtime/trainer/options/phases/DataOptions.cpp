// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/phases/DataOptions.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/OptionBinding.h"
#include "runtime/core/commandline/OptionChecks.h"
#include "runtime/data/sequences/SequenceInputs.h"

using namespace ingot::runtime;

/// More threads than any machine has cores.
static constexpr int64_t kMostWorkers = 256;
/// A queue has a batch that is read beside those that are made.
static constexpr int64_t kFewestBatches = 2, kMostBatches = 1024;

static const Choices<TokenOffsets> kTokenOffsets = {
    {"fixed", TokenOffsets::Fixed}, {"random", TokenOffsets::Random}};

std::string ingot::runtime::getName(TokenOffsets offsets) {
  return getChoiceName(kTokenOffsets, offsets);
}

TokenOffsets ingot::runtime::parseTokenOffsets(const std::string &name) {
  for (const auto &[known, offsets] : kTokenOffsets)
    if (name == known)
      return offsets;
  return TokenOffsets::Moving;
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

void DataOptions::bind(CLI::App &app, const Manifest &manifest) {
  std::string group = "Data";
  app.add_option("--data", training,
                 "Training data: .npz files with one array per input (first "
                 "axis = samples), .npy for a model with one input, .bin token "
                 "files, .tar, .arrow, .parquet, .jsonl or .csv shards, or "
                 "folders DIR/CLASS/FILE of pictures; FILE:WEIGHT mixes "
                 "sources")
      ->type_name("FILE...")
      ->group(group);
  app.add_option("--eval-data", evaluation, "Evaluation data, likewise")
      ->type_name("FILE...")
      ->group(group);
  app.add_option("--eval-every", evalEvery,
                 "Evaluate every N steps instead of after each epoch")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(group);
  auto parseInputs = [this, &manifest](const std::vector<std::string> &words) {
    named = parseRecipes(words, manifest);
  };
  app.add_option_function<std::vector<std::string>>(
         "--input", parseInputs,
         "How an input is made of a field of the samples, as in "
         "image=decode,resize:32,crop:28,flip,normalize:imagenet; "
         "once for each input")
      ->type_name("NAME=STEPS")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--pack", pack,
               "Put several sequences into each row; the inputs of the model "
               "are told apart by shape and name, unless --input says more")
      ->disable_flag_override()
      ->group(group);
  app.add_option("--batch-tokens", batchTokens,
                 "The most tokens of a step, padding and all ranks included: "
                 "of each length, the largest batch that keeps to it; for "
                 "trainers with several, as of --dim batch=16,8,4")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(group);
  auto parseWorkers = [this](const std::string &text) -> std::string {
    int64_t value = 0;
    workers.reset();
    if (text == "auto")
      return {};
    if (!parseWhole(text, value) || value < 0 || value > kMostWorkers)
      return fmt::format("'{}' is neither auto nor an integer from 0 to {}",
                         text, kMostWorkers);
    workers = value;
    return {};
  };
  addParsed(app, "--workers", parseWorkers,
            "Threads that make batches ahead of the step; 0 makes them between "
            "steps, auto adds threads while steps wait")
      ->type_name("N|auto")
      ->default_str("auto")
      ->group(group);
  app.add_option("--prefetch", prefetch,
                 "Batches that these threads make ahead [2 to 8, as fit 64 "
                 "MiB]")
      ->type_name("N")
      ->check(isIntegerFrom(kFewestBatches, kMostBatches))
      ->group(group);
  CLI::Option *cacheOption =
      addText(app, "--cache", cache,
              "Keep decoded and resized pictures in this folder, for the next "
              "epochs and other runs")
          ->type_name("DIR")
          ->group(group);
  app.add_option("--cache-mb", cacheMiB,
                 "The most MiB of pictures in the folder of --cache")
      ->type_name("N")
      ->check(isIntegerFrom(1, kMostMebibytes))
      ->needs(cacheOption)
      ->capture_default_str()
      ->group(group);
  app.add_option("--skip-bad", skipBad,
                 "Samples and files that may be bad and are left out")
      ->type_name("N")
      ->check(atLeast(0))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--no-shuffle", noShuffle,
               "Take samples in the order of the files")
      ->disable_flag_override()
      ->group(group);
  app.add_option("--eval-batches", evalBatches,
                 "Evaluate N batches of the evaluation data, spread evenly "
                 "over it and the same each time, instead of all")
      ->type_name("N")
      ->check(atLeast(1))
      ->group(group);
  app.add_option("--shuffle-window", shuffleWindow,
                 "Take each sample that comes through a pipe at random of N "
                 "that have come [in the order in which they come]")
      ->type_name("N")
      ->check(atLeast(2))
      ->group(group);
  addChoice(app, "--token-offsets", tokenOffsets, kTokenOffsets,
            "Where samples of .bin files begin: at multiples of their length "
            "(fixed), or each anywhere (random) [at multiples of their length, "
            "which move by as many tokens as are drawn for each epoch from the "
            "second on; fixed with --no-shuffle]")
      ->group(group);
  for (const char *name : {"--data", "--eval-data"})
    app.get_option(name)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

void DataOptions::finish(const Manifest &manifest) {
  recipes = named;
  if (const FunctionSpec *step = manifest.findFunction("train_step");
      pack && step)
    addPackedRecipes(step->inputs, recipes);
}

void DataOptions::check() const {
  if (evaluation.empty() && evalBatches)
    throw usageError("--eval-batches", "needs --eval-data",
                     "give --eval-data FILE.npz");
  if (noShuffle && shuffleWindow)
    throw usageError("--shuffle-window", "excludes --no-shuffle",
                     "leave one of the two out");
  if (noShuffle && tokenOffsets == TokenOffsets::Random)
    throw usageError("--token-offsets",
                     "random excludes --no-shuffle, which takes samples as "
                     "they are in the files",
                     "leave one of the two out");
}

void DataOptions::dropEvaluation() {
  evaluation.clear();
  evalEvery.reset();
}
