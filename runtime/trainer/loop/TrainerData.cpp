// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The data of a run.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/loop/Trainer.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/data/VariantData.h"
#include "runtime/data/files/Pipes.h"
#include "runtime/trainer/input/StreamOrder.h"
#include "runtime/trainer/options/Paths.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

using namespace ingot::runtime;

/// Makes the mixture of sources with these weights.
static Mixture makeMixture(const Datasets &data,
                           const std::vector<double> &weights, bool shuffle,
                           uint64_t seed, Console &console) {
  if (data.size() != 1)
    throw usageError("--data", "weights are for trainers of one shape",
                     "leave the weights out, or compile without --dim");
  std::vector<int64_t> counts = data[0]->countBySource(weights.size());
  Mixture mixture(counts, weights, shuffle, seed);
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i)
    text += fmt::format("{}{} of {}", i ? ", " : "", mixture.getCounts()[i],
                        counts[i]);
  console.noteOnce("an epoch takes " + text + " samples of the sources");
  return mixture;
}

std::vector<DataVariant> Trainer::choose(const std::string &function) {
  std::vector<DataVariant> all, chosen;
  for (size_t v = 0; v < manifest.variants.size(); ++v)
    all.push_back({manifest.variants[v],
                   &session.findFunction(function, v)->spec->inputs});
  variants = chooseVariants(all, {options.batchTokens, getStepParts()},
                            options.recipes);
  for (size_t v : variants)
    chosen.push_back(all[v]);
  return chosen;
}

Datasets Trainer::open(const DataFiles &files, const Function &function) {
  for (const DataFile &file : files.files)
    if (isPipe(file.path) && ranks.getSize() > 1)
      throw usageError("'" + file.path + "'",
                       "data through a pipe are for one rank, and there are " +
                           std::to_string(ranks.getSize()),
                       "write the samples to a file that all ranks read");
  DatasetOptions how;
  how.recipes = options.recipes;
  how.skipBad = options.skipBad;
  if (!options.cache.empty() && !cache)
    cache =
        std::make_shared<PictureCache>(options.cache, options.cacheMiB << 20);
  how.cache = cache;
  how.classes = classes;
  if (function.spec->name == "train_step")
    how.stream = stream;
  bool isTraining = function.spec->name == "train_step";
  bool canKeep = std::any_of(
      options.recipes.begin(), options.recipes.end(),
      [&](const auto &recipe) { return recipe.second.canKeep(isTraining); });
  if (cache && !canKeep)
    console.noteOnce("--cache has nothing to keep: no picture has a part of "
                     "its recipe before the random ones that ends resizing");
  how.drawsStarts = isTraining && shuffle && options.tokenOffsets == "random";
  if (isTraining && shuffle && options.tokenOffsets.empty())
    how.movedFrom = 1;
  if (isTraining && shuffle)
    how.packSeed = static_cast<uint64_t>(seed);
  return openByVariant(files.files, choose(function.spec->name), console, how);
}

void Trainer::findClasses(const DataFiles &files, const std::string &option) {
  bool isTraining = option == "--data";
  if (classes.empty() && resumedSettings)
    classes = resumedSettings->classes;
  if (classes.empty() && !isTraining)
    classes = manifest.classNames;
  // Evaluation finds the classes of training by their names.
  if (!isTraining && !classes.empty())
    return;
  ClassNames found = readClasses(files.files);
  if (found.empty())
    return;
  if (!classes.empty())
    checkClasses(found, classes, option, "the checkpoint's run");
  classes = std::move(found);
  console.line("classes: " + describeClasses(classes));
  if (!manifest.classNames.empty() && classes != manifest.classNames)
    console.noteOnce("the model has names of other classes, " +
                     describeClasses(manifest.classNames) +
                     ": labels are those of " + option);
}

void Trainer::openData() {
  if (options.data.empty())
    return;
  DataFiles files = findFiles(options.data, "--data");
  findClasses(files, "--data");
  stream = openStream(files);
  data = open(files, *session.findFunction("train_step"));
  if (stream) {
    prepareStream();
    return;
  }
  std::vector<SampleGroup> groups;
  int64_t samples = 0;
  bool hasBatch = false;
  for (size_t i = 0; i < data.size(); ++i) {
    SampleGroup group{data[i] ? data[i]->getSamples() : 0,
                      manifest.getBatch(variants[i]) * getStepParts()};
    samples += group.samples;
    hasBatch |= group.samples >= group.batch;
    groups.push_back(group);
  }
  std::optional<Mixture> mixture;
  if (!files.weights.empty())
    mixture = makeMixture(data, files.weights, shuffle,
                          static_cast<uint64_t>(seed), console);
  int64_t batch = getStepSamples();
  if (!hasBatch)
    throw badInput(
        "--data",
        fmt::format("{} samples, fewer than a batch of {}", samples, batch),
        "give more samples, or compile with a smaller --batch");
  if (resumedSamples != 0 && resumedSamples != samples)
    throw badInput("--data",
                   fmt::format("{} samples, but the checkpoint's run had {}",
                               samples, resumedSamples),
                   "resume with the same data");
  if (mixture && mixture->getEpochSamples() < batch)
    throw badInput("--data",
                   fmt::format("an epoch of these weights has {} samples, "
                               "fewer than a batch of {}",
                               mixture->getEpochSamples(), batch),
                   "give more samples of the source that ends first");
  if (mixture)
    sampler.emplace(std::move(*mixture), batch, shuffle,
                    static_cast<uint64_t>(seed));
  else
    sampler.emplace(groups, shuffle, static_cast<uint64_t>(seed));
  // Exactly the sample after the last one, whatever the ranks and batches.
  if (resumedSettings && resumedSettings->position &&
      resumedSettings->position->samples.size() != groups.size()) {
    console.noteOnce(fmt::format(
        "samples have {} sizes, and those of the checkpoint's run {}: the "
        "samples of step {} are those that this order has for it",
        groups.size(), resumedSettings->position->samples.size(), step + 1));
    resumedSettings->position.reset();
  }
  if (resumedSettings && resumedSettings->position)
    sampler->startAt(step, {resumedSettings->position->epoch,
                            resumedSettings->position->samples});
  if (int64_t dropped = sampler->getDroppedPerEpoch())
    console.noteOnce(fmt::format(
        "each epoch leaves out {} of {} samples: they do not fill {}", dropped,
        mixture ? dropped + sampler->getBatchesPerEpoch() * batch : samples,
        std::all_of(
            groups.begin(), groups.end(),
            [&](const SampleGroup &group) { return group.batch == batch; })
            ? fmt::format("a batch of {}", batch)
            : "the batch of their length"));
}

void Trainer::startFeed() {
  if (!sampler || step >= totalSteps)
    return;
  std::vector<const std::vector<InputSpec> *> inputs;
  for (size_t v : variants)
    inputs.push_back(&session.findFunction("train_step", v)->spec->inputs);
  if (stream) {
    feed = std::make_unique<Feed>(
        order->plan(*data.front(), *inputs.front(), step, totalSteps), inputs,
        options, static_cast<uint64_t>(seed), /*isTraining=*/true,
        [this] { order->cancel(); });
    return;
  }
  TrainingPlan plan{step, totalSteps, manifest.gradAccumulation,
                    ranks.getRank(), ranks.getSize()};
  feed = std::make_unique<Feed>(planTraining(plan, *sampler, data, inputs),
                                inputs, options, static_cast<uint64_t>(seed),
                                /*isTraining=*/true);
}

void Trainer::openEvalData() {
  if (options.evalData.empty())
    return;
  const Function *evaluation = session.findFunction("eval_step");
  const Function *prediction = session.findFunction("predict");
  if (!options.predict.empty() && !prediction)
    throw failure("--predict", "this trainer has no predict function",
                  "compile the model again");
  for (const auto &[name, recipe] : options.recipes)
    if (!options.predict.empty() && recipe.getSequence() &&
        recipe.getSequence()->isPacked)
      throw usageError("--predict",
                       "rows of '" + name + "' hold several sequences",
                       "predict with the step bucket, which gives each "
                       "sequence a row");
  DataFiles files = findFiles(options.evalData, "--eval-data");
  if (!files.weights.empty())
    throw usageError("--eval-data", "evaluation covers every sample once",
                     "leave the weights out");
  findClasses(files, "--eval-data");
  bool onlyPredicts = options.data.empty() && !options.predict.empty();
  if (onlyPredicts && evaluation)
    for (const FileGroup &group :
         groupFiles(files.files, evaluation->spec->inputs))
      if (evaluation &&
          !haveArrays(group, evaluation->spec->inputs, options.recipes)) {
        console.noteOnce(group.front().path +
                         " has no labels: predicts without evaluating");
        evaluation = nullptr;
      }
  evaluates = evaluation != nullptr;
  const Function *opened = evaluation ? evaluation : prediction;
  if (!opened)
    throw failure("--eval-data", "this trainer has no evaluation",
                  "compile the model again");
  evalData = open(files, *opened);
  if (!options.predict.empty() &&
      std::count(evalData.begin(), evalData.end(), nullptr) + 1 <
          static_cast<int64_t>(evalData.size()))
    throw usageError("--predict", "--eval-data has samples of several shapes",
                     "predict the files of each shape in a run of their own");
}
