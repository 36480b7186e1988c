// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A run whose samples are taken as a program writes them to a pipe.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/data/files/Pipes.h"
#include "runtime/trainer/input/StreamOrder.h"
#include "runtime/trainer/loop/Trainer.h"
#include "runtime/trainer/run/Signals.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

using namespace ingot::runtime;

/// Returns why samples that come through a pipe are read to their end first;
/// empty if they need not.
std::string Trainer::explainWhole(const DataFiles &files) const {
  if (files.files.size() != 1)
    return "--data names more than one file";
  if (!files.weights.empty())
    return "sources have weights";
  if (options.epochs.value_or(1) > 1)
    return "--epochs takes them more than once";
  if (!options.diagnose.empty() || options.measureSeconds)
    return "they are taken more than once";
  if (options.nan == NanPolicy::Rollback)
    return "--nan rollback takes steps again";
  if (haveSequences(options.recipes))
    return "sequences are laid out by their lengths";
  if (variants.size() > 1)
    return "the trainer has several shapes";
  return "";
}

std::shared_ptr<SampleStream> Trainer::openStream(const DataFiles &files) {
  auto pipe = std::find_if(
      files.files.begin(), files.files.end(), [](const DataFile &file) {
        return isPipe(file.path) && !(file.path == "-" && isFileAtInput());
      });
  bool isWanted = options.shuffleWindow.has_value();
  if (pipe == files.files.end()) {
    if (isWanted)
      throw usageError("--shuffle-window",
                       "is for samples that come through a pipe: those of "
                       "files are shuffled as a whole",
                       "leave it out");
    return nullptr;
  }
  if (ranks.getSize() > 1)
    return nullptr;
  choose("train_step");
  std::string reason = explainWhole(files);
  std::shared_ptr<SampleStream> opened;
  if (reason.empty()) {
    opened = SampleStream::open(pipe->path, pipe->tokens,
                                [] { return getReceivedSignal() != 0; });
    if (!opened)
      reason = "files of this kind are read as a whole";
  }
  if (opened) {
    shuffle = false;
    return opened;
  }
  if (isWanted)
    throw usageError("--shuffle-window",
                     "the samples are read to their end first, as " + reason,
                     "leave it out: they are shuffled as a whole");
  console.noteOnce(
      fmt::format("'{}' is read to its end first, into a file in $TMPDIR: {}",
                  pipe->path, reason));
  return nullptr;
}

void Trainer::prepareStream() {
  int64_t taken = 0;
  if (resumedSettings && resumedSettings->position &&
      !resumedSettings->position->samples.empty())
    taken = resumedSettings->position->samples.front();
  StreamSteps steps;
  steps.samples = getStepSamples();
  steps.batches = manifest.gradAccumulation;
  steps.window = options.shuffleWindow.value_or(0);
  steps.seed = static_cast<uint64_t>(seed);
  // The queue has as many batches ahead, and steps may be in flight.
  constexpr int64_t ahead = 16;
  steps.kept = options.prefetch.value_or(0) + ahead;
  order = std::make_unique<StreamOrder>(stream, steps, taken);
  const std::string &path = options.data.front();
  console.noteOnce(
      steps.window == 0
          ? fmt::format(
                "samples of '{}' are taken as they come, once, in their "
                "order: --shuffle-window N shuffles them",
                path)
          : fmt::format("samples of '{}' are taken as they come, once, each at "
                        "random of {} that have come",
                        path, steps.window));
  if (taken != 0)
    console.noteOnce(fmt::format("leaves out the first {} samples, which the "
                                 "checkpoint's run took",
                                 taken));
  // No stream is as long, and the number is one of whole steps.
  constexpr int64_t endless = int64_t(1) << 62;
  sampler.emplace(std::vector{SampleGroup{
                      endless / steps.samples * steps.samples, steps.samples}},
                  /*shuffle=*/false, steps.seed);
  if (taken != 0)
    sampler->startAt(step, {0, {taken}});
  if (options.steps)
    return;
  isEndless = true;
  if (options.schedule.followsLength() || options.warmupPart)
    throw usageError(options.warmupPart ? "--warmup" : "--schedule",
                     "follows the length of the run, and that of a stream is "
                     "not known",
                     "give the length with --steps N");
}

bool Trainer::hasNextStep() {
  if (!stream)
    return true;
  if (!feed->isReady())
    finishSteps();
  auto begin = std::chrono::steady_clock::now();
  bool hasNext = feed->waitForNext();
  dataMs += std::chrono::duration<double, std::milli>(
                std::chrono::steady_clock::now() - begin)
                .count();
  if (hasNext)
    return true;
  finishSteps();
  if (getReceivedSignal() != 0) {
    console.line(fmt::format("{}: stopping after step {}",
                             getReceivedSignalName(), step));
    stopped = true;
    return false;
  }
  int64_t left = order->countLeft();
  std::string rest =
      left == 0 ? ""
                : fmt::format("; {} more {} not fill a step", left,
                              left == 1 ? "sample does" : "samples do");
  if (progress->getSteps() == 0)
    throw badInput(options.data.front(),
                   resumedSettings
                       ? "there are no samples behind those of the "
                         "checkpoint's run" +
                             rest
                       : fmt::format("{} samples, fewer than a batch of {}",
                                     left, getStepSamples()),
                   "write more samples, or compile with a smaller --batch");
  progress->endEpoch(1, isEndless ? step : totalSteps);
  console.line(fmt::format("the samples end after step {}{}{}", step,
                           isEndless ? "" : fmt::format(" of {}", totalSteps),
                           rest));
  totalSteps = step;
  return false;
}
