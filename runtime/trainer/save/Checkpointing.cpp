// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/save/Checkpointing.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/pruning/Pruner.h"
#include "runtime/trainer/run/Outcome.h"
#include "runtime/trainer/run/Resume.h"
#include "runtime/trainer/state/ShardedModel.h"
#include "runtime/trainer/state/State.h"

#include <filesystem>
#include <fmt/format.h>
#include <utility>

using namespace ingot::runtime;

void Checkpointing::share() {
  Communicator &ranks = context.ranks;
  Options &options = context.options;
  // All ranks take part in checkpoints that rank 0 saves: they have parts of
  // their own, or look at their weights before.
  std::string &folder = options.save.checkpoints;
  if (ranks.getRank() == 0 && !options.save.save)
    folder.clear();
  auto length = static_cast<int64_t>(folder.size());
  ranks.broadcast(&length, sizeof(length), 0, "the folder of checkpoints");
  folder.resize(static_cast<size_t>(length));
  if (length != 0)
    ranks.broadcast(folder.data(), length, 0, "the folder of checkpoints");
  int64_t leaves = !folder.empty() || options.save.hasResults();
  ranks.broadcast(&leaves, sizeof(leaves), 0, "whether weights leave the run");
  weightsLeave = leaves != 0;
}

Checkpointing::Checkpointing(const RunContext &context, Describe describe)
    : context(context), describe(std::move(describe)) {
  share();
  SaveOptions &options = context.options.save;
  bool writes = context.ranks.getRank() == 0;
  if (!isUsed() || (!writes && !context.getManifest().hasShards()))
    return;
  if (writes && context.options.report.diagnose) {
    std::filesystem::path beside =
        std::filesystem::path(*options.save).lexically_normal();
    if (!beside.has_filename())
      beside = beside.parent_path();
    scratch.emplace(beside.string() + ".diagnose");
    options.save = scratch->getPath();
  }
  std::string folder = options.save.value_or("");
  saver.emplace(context.session, context.ranks, context.outcome,
                context.console, folder, options.keep);
  std::string before = writes ? findNewest(folder) : "";
  if (before.empty())
    return;
  bool isResumed = isInFolder(options.resume.value_or(""), folder);
  if (isResumed && options.overwrite)
    throw usageError("--overwrite", "would remove what --resume continues from",
                     "leave it out, or save into another folder");
  if (!isResumed && !options.overwrite)
    throw usageError("--save",
                     "'" + folder +
                         "' holds checkpoints of another run, up to " + before +
                         ", and this one does not resume it",
                     "go on with --resume " + folder +
                         ", save into another folder, or give --overwrite to "
                         "remove them");
}

bool Checkpointing::isUsed() const {
  return !context.options.save.checkpoints.empty();
}

CheckpointInfo Checkpointing::read(const std::string &path,
                                   std::optional<int64_t> before) {
  Session &session = context.session;
  const std::optional<double> &decay = context.options.run.ema;
  return loadNewestCheckpoint(
      path,
      [&](const CheckpointState &saved, const std::string &file) {
        restoreState(session, saved, file);
        if (!average &&
            (decay || WeightAverage::isIn(saved, session.getManifest())))
          average.emplace(session, decay.value_or(0));
        if (average)
          average->restore(saved, file);
      },
      [&](const Error &problem) { context.outcome.warn(problem); }, before);
}

RunStart Checkpointing::start() {
  Options &options = context.options;
  RunStart start;
  start.seed = options.run.seed.value_or(0);
  start.shuffle = !options.data.noShuffle;
  if (options.save.resume) {
    restore(start);
    return start;
  }
  if (options.run.ema)
    average.emplace(context.session, *options.run.ema);
  std::string weights = options.save.init.value_or("");
  compareWeights(context.session, context.ranks, weights);
  initializeState(context.session, static_cast<uint64_t>(start.seed), weights,
                  context.console);
  startAdapters(context.session, weights);
  if (options.save.initAdapter)
    ingot_adapters()->readFiles(context.session, *options.save.initAdapter);
  return start;
}

void Checkpointing::restore(RunStart &start) {
  Options &options = context.options;
  CheckpointInfo info = read(*options.save.resume);
  bool otherOrder = options.run.seed.value_or(info.seed) != info.seed ||
                    (options.data.noShuffle && info.shuffle);
  if (otherOrder)
    throw usageError(
        "--resume",
        fmt::format("the checkpoint's run {} with --seed {}",
                    info.shuffle ? "shuffled" : "did not shuffle", info.seed),
        "leave out --seed and --no-shuffle: the checkpoint has them");
  start = {info.step, info.seed, info.shuffle, info.samples, info.settings};
  if (!start.settings)
    return;
  inheritSettings(options, context.getManifest(), *start.settings,
                  context.console);
  if (saver)
    saver->setKeep(options.save.keep);
  if (average)
    average->setDecay(*options.run.ema);
}

void Checkpointing::completeWeights() {
  context.session.completeState();
  if (saver)
    saver->finishCopy();
}

void Checkpointing::updateAverage() {
  completeWeights();
  average->update();
}

void Checkpointing::pruneWeights(Pruner &pruner, int64_t steps) {
  completeWeights();
  if (!pruner.prune(steps) || !average)
    return;
  average->exchange();
  pruner.clear();
  average->exchange();
}

void Checkpointing::exchangeAverage() {
  if (!average)
    return;
  completeWeights();
  average->exchange();
}

void Checkpointing::open(bool savesOften) {
  if (!saver)
    return;
  if (context.options.save.overwrite && context.ranks.getRank() == 0)
    removeCheckpoints(*context.options.save.save);
  if (savesOften)
    saver->prepare(getAverage());
}

void Checkpointing::save(bool isBest) {
  if (!saver)
    return;
  DeviceRange range(*context.session.getContext().device, "checkpoint");
  saver->save(describe(), getAverage(), isBest);
}

void Checkpointing::saveLast(bool isBest) {
  if (saver)
    saver->saveLast(describe(), getAverage(), isBest);
}

void Checkpointing::wait() {
  if (saver)
    saver->wait();
}

CheckpointInfo Checkpointing::goBack(const Error &problem) {
  // If a smaller rate does not help, the weights of the checkpoint may be
  // beyond help: an earlier one may not.
  constexpr int64_t most = 3;
  wait();
  context.ranks.agree(0, "going back to the last checkpoint",
                      Communicator::Lateness::Writing);
  context.outcome.warn(problem);
  CheckpointInfo info;
  try {
    std::optional<int64_t> before;
    if (returns == most)
      before = lastTarget;
    info = read(context.options.save.checkpoints, before);
  } catch (const Error &) {
    // There is none to go back to any more.
    throw problem;
  }
  returns = info.step == lastTarget ? returns + 1 : 1;
  lastTarget = info.step;
  return info;
}

void Checkpointing::discard() {
  if (!saver)
    return;
  saver->wait();
  saver.reset();
  context.ranks.agree(0, "the end of a diagnosis",
                      Communicator::Lateness::Writing);
  scratch.reset();
}
