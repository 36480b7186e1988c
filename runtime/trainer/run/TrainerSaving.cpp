// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a run saves, and goes back to what it saved.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/CheckpointInfo.h"
#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/observe/profile/Profile.h"
#include "runtime/trainer/inspect/Diagnoser.h"
#include "runtime/trainer/loop/Evaluate.h"
#include "runtime/trainer/loop/Signals.h"
#include "runtime/trainer/loop/Trainer.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/weights/WeightExport.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>

using namespace ingot::runtime;

CheckpointInfo Trainer::describeCheckpoint() {
  CheckpointInfo info;
  info.step = step;
  info.seed = seed;
  info.shuffle = shuffle;
  info.settings = describeRun();
  for (const auto &part : data)
    info.samples += part ? part->getSamples() : 0;
  // A run that only evaluates keeps what it resumed.
  if (data.empty()) {
    info.samples = resumedSamples;
    info.settings = resumedSettings;
  }
  return info;
}

void Trainer::compareRanks() {
  std::string run =
      formatInfo({.info = describeCheckpoint()}) +
      fmt::format(" {} {} {} {}", options.evalEvery.value_or(0),
                  options.saveEvery.value_or(0), options.earlyStop.value_or(0),
                  static_cast<int>(options.nan));
  ranks.checkEqual(computeCrc32(run), "run",
                   "give all ranks the same options, and as many samples");
}

void Trainer::checkWeights() {
  // What is only measured may train as badly as it likes.
  if (diagnoser || timer)
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
  ranks.agree(0, "the end of a diagnosis");
  std::error_code error;
  if (ranks.getRank() == 0)
    std::filesystem::remove_all(options.save, error);
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
  ranks.agree(0, "going back to the last checkpoint");
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
