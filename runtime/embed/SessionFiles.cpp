// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The files of a session: those of a trainer's.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/core/Error.h"
#include "runtime/core/files/FolderLock.h"
#include "runtime/embed/EmbeddedSession.h"
#include "runtime/embed/FileSizeErrors.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/weights/FiniteWeights.h"
#include "runtime/trainer/weights/WeightExport.h"

#include <filesystem>
#include <fmt/format.h>

using namespace ingot::runtime;

/// One name for a folder, however it is written.
static std::string getOneName(const std::string &folder) {
  std::error_code error;
  auto path = std::filesystem::weakly_canonical(folder, error);
  return error ? folder : path.string();
}

CheckpointInfo EmbeddedSession::describe() const {
  const Manifest &manifest = loaded->manifest;
  CheckpointInfo info = resumed.value_or(CheckpointInfo());
  info.step = steps;
  info.seed = static_cast<int64_t>(seed);
  RunSettings settings = info.settings.value_or(RunSettings());
  settings.hyperparameters = hyperparameters;
  settings.ranks = 1;
  settings.stepSamples = manifest.getBatch(shape) * manifest.gradAccumulation;
  // Samples are the caller's, and the average of the weights is not kept.
  settings.position.reset();
  settings.ema = 0;
  settings.command = manifest.command;
  settings.recipe = manifest.recipe;
  // Each session may have its own.
  settings.threads = 0;
  info.settings = settings;
  info.base = listBase(session);
  return info;
}

void EmbeddedSession::save(const std::string &folder, int keep) {
  constexpr int usual = 2;
  requireStates();
  if (keep < 0)
    throw usageError("keep",
                     fmt::format("{} is no number of checkpoints", keep),
                     "give 1 or more, or 0 for 2");
  FileSizeErrors sizes;
  makeFolder(folder);
  FolderLock lock(folder);
  removeLeftovers(folder);
  std::string newest = findNewest(folder);
  bool isOwn = folders.count(getOneName(folder)) != 0 ||
               (resumed && isInFolder(resumedFrom, folder));
  if (!newest.empty() && !isOwn)
    throw usageError("folder",
                     "'" + folder +
                         "' holds checkpoints of another run, up to " + newest,
                     "save into another folder, or resume this one first");
  session.fetchState();
  SafeTensors state = viewWholeStates(session);
  requireFinite(session, state, fmt::format("step {}", steps));
  saveCheckpoint(folder, {describe(), state},
                 {keep == 0 ? usual : keep, /*isBest=*/false});
  folders.insert(getOneName(folder));
}

void EmbeddedSession::resume(const std::string &path) {
  session.fetchState();
  CheckpointInfo info = loadNewestCheckpoint(
      path,
      [&](const CheckpointState &saved, const std::string &file) {
        checkState(session, saved, file);
        isTorn = true;
        restoreState(session, saved, file);
      },
      [&](const Error &problem) { console.warn(problem); });
  steps = info.step;
  pruneWeights();
  session.storeState();
  isTorn = false;
  seed = static_cast<uint64_t>(info.seed);
  if (info.settings) {
    for (const auto &[name, value] : info.settings->hyperparameters)
      if (auto own = hyperparameters.find(name); own != hyperparameters.end())
        own->second = value;
    if (info.settings->schedule != "constant" || info.settings->warmup != 0)
      console.noteOnce("the checkpoint's run had --schedule " +
                       info.settings->schedule +
                       ": lr is its value at the top, and does not change by "
                       "itself");
    if (info.settings->ema != 0)
      console.noteOnce("the checkpoint's run had --ema: the weights are those "
                       "of the last step, not their average");
  }
  resumed = info;
  resumedFrom = path;
  folders.clear();
}

void EmbeddedSession::load(const std::string &path) {
  requireStates();
  session.fetchState();
  loadWeightsFile(session, path, console);
  if (pruner)
    pruner->clear();
  session.storeState();
}

void EmbeddedSession::exportModel(const std::string &path) {
  requireStates();
  FileSizeErrors sizes;
  session.fetchState();
  ingot::runtime::exportModel(session, path,
                              resumed && resumed->settings
                                  ? resumed->settings->classes
                                  : std::vector<std::string>());
}
