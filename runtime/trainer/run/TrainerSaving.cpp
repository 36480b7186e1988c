// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a run saves, and goes back to what it saved.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/observe/profile/Profile.h"
#include "runtime/trainer/evaluate/Evaluate.h"
#include "runtime/trainer/hooks/Diagnoser.h"
#include "runtime/trainer/loop/Trainer.h"
#include "runtime/trainer/run/Signals.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/weights/WeightExport.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>

using namespace ingot::runtime;

void Trainer::openSaver() {
  bool writes = ranks.getRank() == 0;
  // All ranks take part in checkpoints that rank 0 saves: they have parts of
  // their own, or look at their weights before.
  std::string &folder = options.checkpoints;
  if (writes && options.save.empty())
    folder.clear();
  auto length = static_cast<int64_t>(folder.size());
  ranks.broadcast(&length, sizeof(length), 0, "the folder of checkpoints");
  folder.resize(static_cast<size_t>(length));
  if (length != 0)
    ranks.broadcast(folder.data(), length, 0, "the folder of checkpoints");
  int64_t leaves = !folder.empty() || !options.exportPath.empty() ||
                   !options.predict.empty();
  ranks.broadcast(&leaves, sizeof(leaves), 0, "whether weights leave the run");
  weightsLeave = leaves != 0;
  if (folder.empty() || (!writes && !manifest.hasShards()))
    return;
  if (writes && !options.diagnose.empty()) {
    std::filesystem::path beside =
        std::filesystem::path(options.save).lexically_normal();
    if (!beside.has_filename())
      beside = beside.parent_path();
    scratch.emplace(beside.string() + ".diagnose");
    options.save = scratch->getPath();
  }
  saver.emplace(session, ranks, outcome, console, options.save, options.keep);
  std::string before = writes ? findNewest(options.save) : "";
  if (before.empty())
    return;
  bool isResumed = isInFolder(options.resume, options.save);
  if (isResumed && options.overwrite)
    throw usageError("--overwrite", "would remove what --resume continues from",
                     "leave it out, or save into another folder");
  if (!isResumed && !options.overwrite)
    throw usageError("--save",
                     "'" + options.save +
                         "' holds checkpoints of another run, up to " + before +
                         ", and this one does not resume it",
                     "go on with --resume " + options.save +
                         ", save into another folder, or give --overwrite to "
                         "remove them");
}

CheckpointInfo Trainer::describeCheckpoint() {
  CheckpointInfo info;
  info.step = step;
  info.seed = seed;
  info.shuffle = shuffle;
  info.settings = describeRun();
  for (const auto &part : data)
    info.samples += part && !stream ? part->getSamples() : 0;
  // A run that only evaluates keeps what it resumed.
  if (data.empty()) {
    info.samples = resumedSamples;
    info.settings = resumedSettings;
  }
  return info;
}

void Trainer::compareRanks() {
  // What decides which collectives there are, and when. Only rank 0 heeds other
  // options, or each rank for itself.
  int64_t evalSamples = 0;
  for (const auto &part : evalData)
    evalSamples += part ? part->getSamples() : 0;
  std::string hint = "give all ranks the same options, and as many samples";
  CheckpointInfo own = describeCheckpoint();
  RunSettings settings = own.settings.value_or(RunSettings());
  std::string rates, schedule = fmt::format("{} {} {}", settings.schedule,
                                            settings.warmup, settings.minLr);
  for (const auto &[name, value] : settings.hyperparameters)
    rates += fmt::format("{} {} ", name, value);
  ranks.checkEqual(
      {{"--steps or --epochs", totalSteps},
       {"number of samples in --data", own.samples},
       {"--seed", own.seed},
       {"--no-shuffle", own.shuffle},
       {"--lr or other hyperparameter", computeCrc32(rates)},
       {"--schedule, --warmup or --min-lr", computeCrc32(schedule)},
       {"--ema", computeCrc32(fmt::format("{}", settings.ema))},
       {"--eval-every", options.evalEvery.value_or(0)},
       {"number of samples in --eval-data", evalSamples},
       {"--save-every", options.saveEvery.value_or(0)},
       {"--best", computeCrc32(options.best)},
       {"--early-stop", options.earlyStop.value_or(0)},
       {"--nan", static_cast<int64_t>(options.nan)},
       {"--histogram-every", options.histogramEvery.value_or(0)},
       {"--diagnose", options.diagnose.empty() ? 0 : 1},
       {"--tune", options.tune.empty() ? 0 : 1},
       {"--tune=measure", options.measureSeconds ? 1 : 0}},
      hint);
  ranks.checkEqual(computeCrc32(formatInfo({.info = own})), "run", hint);
}

void Trainer::checkWeights() {
  // What is only measured may train as badly as it likes, and looking at a
  // device's weights takes a copy of them.
  if (diagnoser || timer || !weightsLeave)
    return;
  finishSteps();
  session.completeState();
  if (auto problem =
          explainNotFinite(session, ranks, fmt::format("step {}", step)))
    throw NotFinite(*problem);
}

void Trainer::writeResults() {
  chooseWeights();
  if (!options.exportPath.empty())
    outcome.attempt([&] {
      session.fetchState();
      exportModel(session, options.exportPath, classes);
    });
  if (!options.predict.empty())
    outcome.attempt([&] {
      checkFinite(session, options.predict);
      predict(session, evalData, variants, options, options.predict, console);
    });
}

void Trainer::save(bool isBest) {
  if (options.checkpoints.empty())
    return;
  finishSteps();
  progress->pause();
  // What one rank writes is checked beside the training, as it is written.
  if (manifest.hasShards() && ranks.getSize() > 1)
    checkWeights();
  if (!saver) {
    progress->resume();
    return;
  }
  auto begin = std::chrono::steady_clock::now();
  {
    DeviceRange range(*session.getContext().device, "checkpoint");
    saver->save(describeCheckpoint(), average ? &*average : nullptr, isBest);
  }
  progress->resume();
  if (diagnoser)
    diagnoser->addSaving(std::chrono::duration<double, std::milli>(
                             std::chrono::steady_clock::now() - begin)
                             .count());
}

void Trainer::endDiagnosedStep() {
  diagnoser->endStep();
  int64_t first = totalSteps - Diagnoser::kMost - Diagnoser::kAhead,
          last = first + Diagnoser::kMost - 1;
  if (std::optional<int64_t> workers = diagnoser->startTrial(
          /*isNew=*/sampler->getEpoch(first) == sampler->getEpoch(last)))
    feed->setWorkers(*workers);
}

void Trainer::finishDiagnosis() {
  evidence = diagnoser->measure(profiler->take());
  if (stopped)
    outcome.endBySignal(getReceivedSignal());
  if (!saver)
    return;
  saver->wait();
  saver.reset();
  ranks.agree(0, "the end of a diagnosis", Communicator::Lateness::Writing);
  scratch.reset();
}

void Trainer::saveLast() {
  if (!saver)
    return;
  bool isBest = best && best->get().step == step && evaluatedStep == step;
  saver->saveLast(describeCheckpoint(), average ? &*average : nullptr, isBest);
}

void Trainer::rollBack(const Error &problem) {
  // If a smaller rate does not help, the weights of the checkpoint may be
  // beyond help: an earlier one may not.
  constexpr int64_t most = 3;
  started.clear();
  feed.reset();
  if (saver)
    saver->wait();
  ranks.agree(0, "going back to the last checkpoint",
              Communicator::Lateness::Writing);
  outcome.warn(problem);
  CheckpointInfo info;
  try {
    std::optional<int64_t> before;
    if (rollbacks == most)
      before = rolledBackTo;
    info = readCheckpoint(options.checkpoints, before);
  } catch (const Error &) {
    // There is none to go back to any more.
    throw problem;
  }
  rollbacks = info.step == rolledBackTo ? rollbacks + 1 : 1;
  rolledBackTo = info.step;
  step = info.step;
  shareState(session, ranks, step);
  rateScale *= 0.5;
  if (plateau && info.settings)
    plateau->resume(info.settings->plateau);
  countSkipped();
  session.storeState();
  evaluatedStep.reset();
  log->cutAfter(step);
  if (sampler && info.settings && info.settings->position)
    sampler->startAt(step, {info.settings->position->epoch,
                            info.settings->position->samples});
  startFeed();
  progress->resume();
  console.line(fmt::format("goes back to step {}, with {:g} of the learning "
                           "rate",
                           step, rateScale));
}
