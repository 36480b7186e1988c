// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/input/RunData.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/files/Pipes.h"
#include "runtime/trainer/input/Streaming.h"

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

RunData::RunData(const RunContext &context, RunStart &start)
    : context(context), start(start) {
  openTraining();
  openEvaluation();
}

RunData::~RunData() = default;

int64_t RunData::count(const Datasets &data) {
  int64_t samples = 0;
  for (const auto &part : data)
    samples += part ? part->getSamples() : 0;
  return samples;
}

int64_t RunData::getStepParts() const {
  return context.getManifest().gradAccumulation * context.dataRanks.getSize();
}

int64_t RunData::getStepSamples() const {
  int64_t most = 0;
  for (size_t variant : variants)
    most = std::max(most, context.getManifest().getBatch(variant));
  return most * getStepParts();
}

size_t RunData::getGroup(int64_t step) const {
  return training.size() == 1 ? 0 : sampler->getBatch(step).group;
}

const std::vector<InputSpec> &RunData::getInputs(size_t variant) const {
  return context.session.findFunction("train_step", variant)->spec->inputs;
}

std::optional<std::string> RunData::findProblem(int64_t step) const {
  if (order)
    return training[0]->findProblem(getInputs(variants[0]),
                                    order->getSamples(step));
  Sampler::Batch batch = sampler->getBatch(step);
  return training[batch.group]->findProblem(getInputs(variants[batch.group]),
                                            batch.samples);
}

std::vector<DataVariant> RunData::choose(const std::string &function) {
  const Manifest &manifest = context.getManifest();
  std::vector<DataVariant> all, chosen;
  for (size_t v = 0; v < manifest.variants.size(); ++v)
    all.push_back({manifest.variants[v],
                   &context.session.findFunction(function, v)->spec->inputs});
  variants =
      chooseVariants(all, {context.options.data.batchTokens, getStepParts()},
                     context.options.data.recipes);
  for (size_t v : variants)
    chosen.push_back(all[v]);
  return chosen;
}

Datasets RunData::open(const DataFiles &files, const Function &function) {
  const Options &options = context.options;
  for (const DataFile &file : files.files)
    if (isPipe(file.path) && context.ranks.getSize() > 1)
      throw usageError("'" + file.path + "'",
                       "data through a pipe are for one rank, and there are " +
                           std::to_string(context.ranks.getSize()),
                       "write the samples to a file that all ranks read");
  DatasetOptions how;
  how.recipes = options.data.recipes;
  how.skipBad = options.data.skipBad;
  if (options.data.cache && !cache)
    cache = std::make_shared<PictureCache>(*options.data.cache,
                                           options.data.cacheMiB << 20);
  how.cache = cache;
  how.classes = classes;
  bool isTraining = function.spec->name == "train_step";
  if (isTraining)
    how.stream = stream;
  bool canKeep = std::any_of(
      options.data.recipes.begin(), options.data.recipes.end(),
      [&](const auto &recipe) { return recipe.second.canKeep(isTraining); });
  if (cache && !canKeep)
    context.console.noteOnce(
        "--cache has nothing to keep: no picture has a part of "
        "its recipe before the random ones that ends resizing");
  bool isShuffled = isTraining && start.shuffle;
  how.drawsStarts =
      isShuffled && options.data.tokenOffsets == TokenOffsets::Random;
  if (isShuffled && options.data.tokenOffsets == TokenOffsets::Moving)
    how.movedFrom = 1;
  if (isShuffled)
    how.packSeed = static_cast<uint64_t>(start.seed);
  return openByVariant(files.files, choose(function.spec->name),
                       context.console, how);
}

void RunData::findClasses(const DataFiles &files, const std::string &option) {
  const Manifest &manifest = context.getManifest();
  bool isTraining = option == "--data";
  if (classes.empty() && start.settings)
    classes = start.settings->classes;
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
  context.console.line("classes: " + describeClasses(classes));
  if (!manifest.classNames.empty() && classes != manifest.classNames)
    context.console.noteOnce("the model has names of other classes, " +
                             describeClasses(manifest.classNames) +
                             ": labels are those of " + option);
}

/// Whether the first samples of some data are parts of files of tokens.
static bool haveTokens(const Datasets &data) {
  return std::any_of(data.begin(), data.end(), [](const auto &samples) {
    return samples && samples->getSamples() > 0 &&
           samples->countTokens(0).tokens > 0;
  });
}

void RunData::openTraining() {
  if (context.options.data.training.empty())
    return;
  DataFiles files = findFiles(context.options.data.training, "--data");
  findClasses(files, "--data");
  choose("train_step");
  stream = openStream(context, files, variants.size());
  if (stream)
    start.shuffle = false;
  training = open(files, *context.session.findFunction("train_step"));
  if (context.options.line.isGiven("--token-offsets") &&
      (stream || !haveTokens(training)))
    throw usageError("--token-offsets",
                     "is for samples that are parts of files of tokens",
                     "leave it out");
  if (stream)
    sampleStream();
  else
    sample(files);
}

void RunData::sampleStream() {
  int64_t batch = getStepSamples();
  order = orderStream(context, start, stream, batch);
  // No stream is as long, and the number is one of whole steps.
  constexpr int64_t endless = int64_t(1) << 62;
  sampler.emplace(std::vector{SampleGroup{endless / batch * batch, batch}},
                  /*shuffle=*/false, static_cast<uint64_t>(start.seed));
  if (int64_t taken = countTaken(start))
    sampler->startAt(start.step, {0, {taken}});
}

bool RunData::isEndless() const { return stream && !context.options.run.steps; }

void RunData::sample(const DataFiles &files) {
  std::vector<SampleGroup> groups;
  bool hasBatch = false;
  for (size_t i = 0; i < training.size(); ++i) {
    SampleGroup group{training[i] ? training[i]->getSamples() : 0,
                      context.getManifest().getBatch(variants[i]) *
                          getStepParts()};
    hasBatch |= group.samples >= group.batch;
    groups.push_back(group);
  }
  auto seed = static_cast<uint64_t>(start.seed);
  std::optional<Mixture> mixture;
  if (!files.weights.empty())
    mixture = makeMixture(training, files.weights, start.shuffle, seed,
                          context.console);
  int64_t samples = countTraining(), batch = getStepSamples();
  if (!hasBatch)
    throw badInput(
        "--data",
        fmt::format("{} samples, fewer than a batch of {}", samples, batch),
        "give more samples, or compile with a smaller --batch");
  if (start.samples != 0 && start.samples != samples)
    throw badInput("--data",
                   fmt::format("{} samples, but the checkpoint's run had {}",
                               samples, start.samples),
                   "resume with the same data");
  if (mixture && mixture->getEpochSamples() < batch)
    throw badInput("--data",
                   fmt::format("an epoch of these weights has {} samples, "
                               "fewer than a batch of {}",
                               mixture->getEpochSamples(), batch),
                   "give more samples of the source that ends first");
  bool isMixed = mixture.has_value();
  if (mixture)
    sampler.emplace(std::move(*mixture), batch, start.shuffle, seed);
  else
    sampler.emplace(groups, start.shuffle, seed);
  // Exactly the sample after the last one, whatever the ranks and batches.
  if (start.settings && start.settings->position &&
      start.settings->position->samples.size() != groups.size()) {
    context.console.noteOnce(fmt::format(
        "samples have {} sizes, and those of the checkpoint's run {}: the "
        "samples of step {} are those that this order has for it",
        groups.size(), start.settings->position->samples.size(),
        start.step + 1));
    start.settings->position.reset();
  }
  if (start.settings && start.settings->position)
    sampler->startAt(start.step, {start.settings->position->epoch,
                                  start.settings->position->samples});
  if (int64_t dropped = sampler->getDroppedPerEpoch())
    context.console.noteOnce(fmt::format(
        "each epoch leaves out {} of {} samples: they do not fill {}", dropped,
        isMixed ? dropped + sampler->getBatchesPerEpoch() * batch : samples,
        std::all_of(
            groups.begin(), groups.end(),
            [&](const SampleGroup &group) { return group.batch == batch; })
            ? fmt::format("a batch of {}", batch)
            : "the batch of their length"));
}

std::unique_ptr<Feed> RunData::makeFeed(int64_t step, int64_t end) const {
  if (!sampler || step >= end)
    return nullptr;
  std::vector<const std::vector<InputSpec> *> inputs;
  for (size_t variant : variants)
    inputs.push_back(&getInputs(variant));
  bool isDiagnosed = context.options.report.diagnose.has_value();
  if (order)
    return std::make_unique<Feed>(
        order->plan(*training.front(), *inputs.front(), step, end), inputs,
        context.options.data, static_cast<uint64_t>(start.seed),
        /*isTraining=*/true, [this] { order->cancel(); }, isDiagnosed);
  TrainingPlan plan{step, end, context.getManifest().gradAccumulation,
                    context.dataRanks.getRank(), context.dataRanks.getSize()};
  return std::make_unique<Feed>(
      planTraining(plan, *sampler, training, inputs), inputs,
      context.options.data, static_cast<uint64_t>(start.seed),
      /*isTraining=*/true, /*cancel=*/nullptr, isDiagnosed);
}

void RunData::openEvaluation() {
  Session &session = context.session;
  const Options &options = context.options;
  if (options.data.evaluation.empty())
    return;
  const Function *evaluated = session.findFunction("eval_step");
  const Function *predicted = session.findFunction("predict");
  if (options.save.predict && !predicted)
    throw failure("--predict", "this trainer has no predict function",
                  "compile the model again");
  for (const auto &[name, recipe] : options.data.recipes)
    if (options.save.predict && recipe.getSequence() &&
        recipe.getSequence()->isPacked)
      throw usageError("--predict",
                       "rows of '" + name + "' hold several sequences",
                       "predict with the step bucket, which gives each "
                       "sequence a row");
  DataFiles files = findFiles(options.data.evaluation, "--eval-data");
  if (!files.weights.empty())
    throw usageError("--eval-data", "evaluation covers every sample once",
                     "leave the weights out");
  findClasses(files, "--eval-data");
  bool onlyPredicts = options.data.training.empty() && options.save.predict;
  if (onlyPredicts && evaluated)
    for (const FileGroup &group :
         groupFiles(files.files, evaluated->spec->inputs))
      if (evaluated &&
          !haveArrays(group, evaluated->spec->inputs, options.data.recipes)) {
        context.console.noteOnce(group.front().path +
                                 " has no labels: predicts without evaluating");
        evaluated = nullptr;
      }
  hasLabels = evaluated != nullptr;
  const Function *opened = evaluated ? evaluated : predicted;
  if (!opened)
    throw failure("--eval-data", "this trainer has no evaluation",
                  "compile the model again");
  evaluation = open(files, *opened);
  if (options.save.predict &&
      std::count(evaluation.begin(), evaluation.end(), nullptr) + 1 <
          static_cast<int64_t>(evaluation.size()))
    throw usageError("--predict", "--eval-data has samples of several shapes",
                     "predict the files of each shape in a run of their own");
}
