// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/input/Streaming.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/files/Pipes.h"
#include "runtime/data/sequences/SequenceInputs.h"
#include "runtime/trainer/run/StopRequest.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

using namespace ingot::runtime;

/// Returns why samples that come through a pipe are read to their end first;
/// empty if they need not.
static std::string explainWhole(const Options &options, const DataFiles &files,
                                size_t variants) {
  if (files.files.size() != 1)
    return "--data names more than one file";
  if (!files.weights.empty())
    return "sources have weights";
  if (options.run.epochs.value_or(1) > 1)
    return "--epochs takes them more than once";
  if (options.report.diagnose || options.tune.measureSeconds)
    return "they are taken more than once";
  if (options.run.nan == NanPolicy::Rollback)
    return "--nan rollback takes steps again";
  if (haveSequences(options.data.recipes))
    return "sequences are laid out by their lengths";
  if (variants > 1)
    return "the trainer has several shapes";
  return "";
}

std::shared_ptr<SampleStream>
ingot::runtime::openStream(const RunContext &context, const DataFiles &files,
                           size_t variants) {
  const Options &options = context.options;
  auto pipe = std::find_if(
      files.files.begin(), files.files.end(), [](const DataFile &file) {
        return isPipe(file.path) && !(file.path == "-" && isFileAtInput());
      });
  bool isWanted = options.data.shuffleWindow.has_value();
  if (pipe == files.files.end()) {
    if (isWanted)
      throw usageError("--shuffle-window",
                       "is for samples that come through a pipe: those of "
                       "files are shuffled as a whole",
                       "leave it out");
    return nullptr;
  }
  if (context.ranks.getSize() > 1)
    return nullptr;
  std::string reason = explainWhole(options, files, variants);
  if (reason.empty()) {
    auto opened =
        SampleStream::open(pipe->path, pipe->tokens, [&stop = context.stop] {
          return stop.getSignal() != 0;
        });
    if (opened)
      return opened;
    reason = "files of this kind are read as a whole";
  }
  if (isWanted)
    throw usageError("--shuffle-window",
                     "the samples are read to their end first, as " + reason,
                     "leave it out: they are shuffled as a whole");
  context.console.noteOnce(
      fmt::format("'{}' is read to its end first, into a file in $TMPDIR: {}",
                  pipe->path, reason));
  return nullptr;
}

int64_t ingot::runtime::countTaken(const RunStart &start) {
  return start.settings && start.settings->position &&
                 !start.settings->position->samples.empty()
             ? start.settings->position->samples.front()
             : 0;
}

std::unique_ptr<StreamOrder>
ingot::runtime::orderStream(const RunContext &context, const RunStart &start,
                            std::shared_ptr<SampleStream> stream,
                            int64_t stepSamples) {
  const Options &options = context.options;
  StreamSteps steps;
  steps.samples = stepSamples;
  steps.batches = context.getManifest().gradAccumulation;
  steps.window = options.data.shuffleWindow.value_or(0);
  steps.seed = static_cast<uint64_t>(start.seed);
  // The queue has as many batches ahead, and steps may be in flight.
  constexpr int64_t ahead = 16;
  steps.kept = options.data.prefetch.value_or(0) + ahead;
  const std::string &path = options.data.training.front();
  context.console.noteOnce(
      steps.window == 0
          ? fmt::format(
                "samples of '{}' are taken as they come, once, in their "
                "order: --shuffle-window N shuffles them",
                path)
          : fmt::format("samples of '{}' are taken as they come, once, each at "
                        "random of {} that have come",
                        path, steps.window));
  int64_t taken = countTaken(start);
  if (taken != 0)
    context.console.noteOnce(fmt::format("leaves out the first {} samples, "
                                         "which the checkpoint's run took",
                                         taken));
  if (!options.run.steps &&
      (options.run.schedule.followsLength() || options.run.warmupPart))
    throw usageError(options.run.warmupPart ? "--warmup" : "--schedule",
                     "follows the length of the run, and that of a stream is "
                     "not known",
                     "give the length with --steps N");
  return std::make_unique<StreamOrder>(std::move(stream), steps, taken);
}
