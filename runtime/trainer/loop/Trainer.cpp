// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A run from start to end.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/loop/Trainer.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/data/VariantData.h"
#include "runtime/observe/Watch.h"
#include "runtime/observe/profile/Profile.h"
#include "runtime/observe/tensorboard/TensorBoard.h"
#include "runtime/trainer/evaluate/Evaluate.h"
#include "runtime/trainer/evaluate/EvaluationMetrics.h"
#include "runtime/trainer/hooks/BucketTuner.h"
#include "runtime/trainer/hooks/Diagnoser.h"
#include "runtime/trainer/hooks/ParameterInspector.h"
#include "runtime/trainer/hooks/StepTimer.h"
#include "runtime/trainer/input/StreamOrder.h"
#include "runtime/trainer/options/Paths.h"
#include "runtime/trainer/run/Resume.h"
#include "runtime/trainer/run/RunHeader.h"
#include "runtime/trainer/run/Signals.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/tune/Tune.h"
#include "runtime/trainer/weights/WeightExport.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <utility>

using namespace ingot::runtime;

Trainer::Trainer(Session &session, const Options &options, Console &console,
                 Communicator &ranks)
    : session(session), options(options), manifest(session.getManifest()),
      console(console), ranks(ranks), seed(options.seed.value_or(0)),
      shuffle(!options.noShuffle), outcome(console) {
  collectPaths(options, ranks.getSize()).prepare();
  openSaver();
  if (!options.exportPath.empty())
    checkExportable(session, options.exportPath);
  std::optional<int64_t> resumedStep;
  if (options.resume.empty() && options.ema)
    average.emplace(session, *options.ema);
  if (options.resume.empty()) {
    initializeState(session, static_cast<uint64_t>(seed), options.init,
                    console);
  } else {
    restore();
    resumedStep = step;
  }
  shareState(session, ranks, step);
  if (const StateSpec *scale = manifest.findState("loss_scale")) {
    if (options.lossScale)
      convert(&*options.lossScale, DType::F64, session.getPlace(*scale),
              scale->dtype, 1);
    countSkipped();
  }
  session.storeState();
  ranks.setInterruption(getTerminationName, [&](const Error &error) {
    outcome.warn(error);
    if (!this->options.commRecord.empty())
      ranks.writeEvents(this->options.getRecordPath(ranks.getRank()));
  });
  if (!options.watch.empty())
    watch = std::make_unique<Watch>(
        manifest,
        [&](const KernelOutput &output) { return session.read(output); },
        /*keepsStatistics=*/options.watch == "stats");
  if (options.checkMemory && manifest.targetKind != "cpu")
    throw usageError("--check-memory", "is for trainers on CPUs only",
                     "compile with --target cpu to check the plan");
  if (options.checkMemory)
    memoryCheck =
        std::make_unique<MemoryCheck>(manifest, session.getDevice().getArena());
  openData();
  openEvalData();
  planSteps();
  if (this->options.seeksBest())
    openBest();
  startPlateau();
  if (resumedSettings && !this->options.evaluatesOnly())
    compareRuns(describeRun(), *resumedSettings, step, isEndless, console);
  compareRanks();
  openLog(resumedStep);
  writeHeader();
  if (!options.profile.empty()) {
    ProfileSchedule schedule = options.profileSchedule;
    // A GPU's first step waits for libraries to be loaded and plans to be made.
    if (options.profileSteps.empty() && manifest.targetKind == "cuda" &&
        totalSteps - step > 1)
      schedule.warmup = 1;
    session.prepareProfile();
    profiler = std::make_unique<Profiler>(session.getContext(), schedule);
  }
  if (!options.diagnose.empty()) {
    diagnoser = std::make_unique<Diagnoser>(session, ranks, options);
    profiler = std::make_unique<Profiler>(session.getContext(),
                                          Diagnoser::getSchedule());
  }
  if (options.measureSeconds)
    timer = std::make_unique<StepTimer>(*options.measureSeconds);
  if (!options.tune.empty() && ranks.getSize() > 1 &&
      manifest.targetKind == "cpu")
    bucketTuner = std::make_unique<BucketTuner>(ranks, console, options,
                                                getKeyWord(manifest.model));
  // Watches and profiles inspect one step at a time.
  if (!watch && !profiler)
    stepsAhead = session.getRunsAhead();
}

void Trainer::openLog(std::optional<int64_t> resumedStep) {
  // An evaluation takes no step again.
  if (resumedStep && options.evaluatesOnly())
    resumedStep = std::numeric_limits<int64_t>::max() - 1;
  log = std::make_unique<MetricsLog>(options.log, resumedStep,
                                     options.logMostMb << 20);
  log->writeClasses(step, classes);
  if (options.tensorboard.empty())
    return;
  board = std::make_unique<TensorBoard>(options.tensorboard,
                                        resumedStep.value_or(step));
  log->setFollower(board.get());
  if (options.histogramEvery)
    inspector = std::make_unique<ParameterInspector>(session, *board, console);
}

void Trainer::writeHeader() {
  bool evaluatesOnly = options.evaluatesOnly();
  std::string header = ingot::runtime::describeRun(
      manifest, session.getDevice().describe(), ranks.getSize(),
      isEndless        ? "until the samples end"
      : !evaluatesOnly ? fmt::format("{} steps", totalSteps)
      : step != 0      ? fmt::format("evaluates step {}", step)
                       : "evaluates the first weights");
  console.line(header);
  // The options of the run that is evaluated stay beside its log.
  bool isKept =
      evaluatesOnly && std::filesystem::exists(options.getConfigurationPath());
  if (!options.log.empty() && !isKept)
    outcome.attempt([&] {
      writeConfiguration(options.getConfigurationPath(), header, options);
    });
}

void Trainer::countSkipped() {
  int64_t skippedNow = progress ? progress->getSkippedSteps() : 0;
  for (const StateSpec &spec : manifest.states)
    if (spec.role == StateRole::Step)
      skippedBefore = step - skippedNow -
                      static_cast<int64_t>(
                          readAsDouble(session.getPlace(spec), spec.dtype));
}

Trainer::~Trainer() { session.getContext().observer = nullptr; }

void Trainer::planSteps() {
  if (!options.diagnose.empty())
    totalSteps = step + Diagnoser::kMost + Diagnoser::kAhead;
  else if (options.measureSeconds)
    totalSteps = step + StepTimer::kMost;
  else if (options.steps)
    totalSteps = *options.steps;
  else if (isEndless)
    totalSteps = Progress::kEndless;
  else if (sampler)
    totalSteps = sampler->getSteps(options.epochs.value_or(1));
  if (totalSteps < 0)
    throw usageError("--epochs", "too many", "give a smaller number");
  if (options.warmupPart)
    options.warmup =
        std::llround(*options.warmupPart * static_cast<double>(totalSteps));
  auto rate = options.hyperparameters.find("lr");
  if (rate != options.hyperparameters.end() && options.minLr > rate->second)
    throw usageError("--min-lr",
                     fmt::format("{} is above --lr, which is {}", options.minLr,
                                 rate->second),
                     "give a smaller one");
  bool hasFloor = rate != options.hyperparameters.end() && rate->second > 0;
  schedule = {options.schedule, options.warmup, totalSteps,
              hasFloor ? options.minLr / rate->second : 0};
}

CheckpointInfo Trainer::readCheckpoint(const std::string &path,
                                       std::optional<int64_t> before) {
  return loadNewestCheckpoint(
      path,
      [&](const CheckpointState &saved, const std::string &file) {
        restoreState(session, saved, file);
        if (!average && (options.ema || WeightAverage::isIn(saved, manifest)))
          average.emplace(session, options.ema.value_or(0));
        if (average)
          average->restore(saved, file);
      },
      [&](const Error &problem) { outcome.warn(problem); }, before);
}

void Trainer::restore() {
  CheckpointInfo info = readCheckpoint(options.resume);
  step = info.step;
  resumedSamples = info.samples;
  bool otherOrder = options.seed.value_or(info.seed) != info.seed ||
                    (options.noShuffle && info.shuffle);
  if (otherOrder)
    throw usageError(
        "--resume",
        fmt::format("the checkpoint's run {} with --seed {}",
                    info.shuffle ? "shuffled" : "did not shuffle", info.seed),
        "leave out --seed and --no-shuffle: the checkpoint has them");
  seed = info.seed;
  shuffle = info.shuffle;
  resumedSettings = info.settings;
  if (!resumedSettings)
    return;
  inheritSettings(options, manifest, *resumedSettings, console);
  if (saver)
    saver->setKeep(options.keep);
  rateScale = resumedSettings->rateScale;
  if (average)
    average->setDecay(*options.ema);
}

RunSettings Trainer::describeRun() {
  RunSettings settings;
  settings.hyperparameters = options.hyperparameters;
  settings.schedule = options.schedule.str();
  settings.warmup = options.warmup;
  settings.minLr = options.minLr;
  // A run that ends with its stream goes on with the next one.
  settings.totalSteps = isEndless ? 0 : totalSteps;
  settings.ranks = ranks.getSize();
  settings.stepSamples = getStepSamples();
  if (sampler) {
    Sampler::Position position = sampler->getPosition(step);
    settings.position = {position.epoch, position.taken};
  }
  settings.classes = classes;
  settings.tokenOffsets =
      shuffle ? (options.tokenOffsets.empty() ? "auto" : options.tokenOffsets)
              : "fixed";
  settings.evalBatches = options.evalBatches.value_or(0);
  settings.batchTokens = options.batchTokens.value_or(0);
  settings.ema = options.ema.value_or(0);
  settings.rateScale = rateScale;
  if (best)
    settings.best = best->get();
  if (plateau)
    settings.plateau = plateau->getState();
  settings.options = options.shaping;
  return settings;
}

bool Trainer::endsEpoch(int64_t number) const {
  return number == totalSteps ||
         sampler->getEpoch(number) != sampler->getEpoch(number - 1);
}

/// Returns the factor of the learning rate in the next step. Schedules count
/// updates of the model, so that a step that may still be skipped is waited for
/// where that makes a difference.
double Trainer::getRateFactor() {
  auto countUpdates = [&] {
    return step - skippedBefore - progress->getSkippedSteps();
  };
  if (manifest.findState("loss_scale") &&
      !schedule.isConstantFrom(countUpdates() + 1 -
                               static_cast<int64_t>(started.size())))
    finishSteps();
  return schedule.getFactor(countUpdates() + 1) *
         (plateau ? plateau->getFactor() : 1);
}

/// Whether to stop after this step. Ranks agree on it one step late, so that no
/// rank waits for the others; likewise on whether all have written their parts
/// of a checkpoint.
bool Trainer::shouldStop() {
  if (ranks.getSize() == 1)
    return getReceivedSignal() != 0;
  ranks.wait(std::exchange(agreement, 0));
  bool stop = agreed.signals != 0;
  auto stage = std::exchange(agreedStage, std::nullopt);
  if (stage && agreed.writers == 0)
    saver->endStage(*stage);
  if (stop || step == totalSteps)
    return stop;
  if (saver)
    agreedStage = saver->getStage();
  agreed = {getReceivedSignal() ? 1 : 0,
            agreedStage && saver->isBusy() ? 1 : 0};
  agreement = ranks.startAllReduce(&agreed, 2, DType::I32,
                                   "agreement on the next step");
  return false;
}

int64_t Trainer::getStepSamples() const {
  int64_t most = 0;
  for (size_t variant : variants)
    most = std::max(most, manifest.getBatch(variant));
  return most * getStepParts();
}

void Trainer::startStep(const Function &last, size_t variant,
                        const std::map<std::string, double> &hyperparameters) {
  for (int64_t micro = 1; micro <= manifest.gradAccumulation; ++micro) {
    const Function &part =
        micro < manifest.gradAccumulation
            ? *session.findFunction("accumulate_step", variant)
            : last;
    auto begin = std::chrono::steady_clock::now();
    {
      DeviceRange range(*session.getContext().device, "wait for data");
      feed->fill(part.inputs, session.prepareInputs());
    }
    TimeSpan wait{begin, std::chrono::steady_clock::now()};
    dataMs += wait.getMicroseconds() * 1e-3;
    if (profiler)
      profiler->addData(wait);
    if (memoryCheck)
      memoryCheck->start(*part.spec);
    session.run(part, hyperparameters, manifest.getBatch(variant));
  }
}

void Trainer::inspect(const std::function<void()> &body) {
  finishSteps();
  progress->pause();
  session.completeState();
  if (inspector)
    body();
  progress->resume();
}

void Trainer::trainStep() {
  DeviceRange range(*session.getContext().device, "step");
  size_t group = data.size() == 1 ? 0 : sampler->getBatch(step).group;
  size_t variant = variants[group];
  ranks.setStep(step + 1);
  const Function &function = *session.findFunction(
      step < manifest.uncompressedSteps ? "uncompressed_step" : "train_step",
      variant);
  std::map<std::string, double> values = options.hyperparameters;
  double rate = 1;
  if (auto lr = values.find("lr"); lr != values.end())
    lr->second *= rate = getRateFactor() * rateScale;
  if (watch)
    watch->startStep(/*lastWentWell=*/!progress->wasLastSkipped());
  if (profiler)
    profiler->startStep();
  session.getContext().observer = watch.get();
  if (memoryCheck)
    session.getContext().observer = memoryCheck.get();
  bool isInspected =
      options.histogramEvery && (step + 1) % *options.histogramEvery == 0;
  if (isInspected)
    inspect([&] { inspector->startStep(); });
  try {
    startStep(function, variant, values);
  } catch (const Error &) {
    // Earlier steps did run, whatever made this one fail.
    finishSteps();
    throw;
  }
  session.getContext().observer = nullptr;
  session.printNotes(console);
  data[group]->printNotes(console);
  feed->printNotes(console);
  if (memoryCheck && memoryCheck->getProblem())
    throw failure("--check-memory", *memoryCheck->getProblem(),
                  "this is a defect of the compiler or of that kernel: report "
                  "it with the model");
  ++step;
  started.push_back({step, values.count("lr") ? values["lr"] : 0,
                     std::exchange(dataMs, 0), session.fetchResults(function),
                     group, feed->takeTimes()});
  finishSteps(stepsAhead);
  if (isInspected)
    inspect([&] { inspector->endStep(step, rate); });
  if (profiler)
    profiler->endStep(step);
  if (diagnoser)
    endDiagnosedStep();
  if (timer)
    timer->endStep();
  if (bucketTuner)
    bucketTuner->endStep();
  if (average && saver)
    saver->finishCopy();
  if (average && !progress->wasLastSkipped())
    average->update();
}

void Trainer::finishSteps(size_t inFlight) {
  while (started.size() > inFlight) {
    auto [number, lr, waitedMs, results, group, spent] = started.front();
    started.pop_front();
    auto read = [&](std::string_view output) {
      return static_cast<float>(session.readScalar(results, output));
    };
    StepMetrics metrics;
    metrics.step = number;
    metrics.lr = lr;
    metrics.loss = read("loss");
    if (results.function->findOutput("grad_norm"))
      metrics.gradNorm = read("grad_norm");
    if (results.function->findOutput("loss_scale"))
      metrics.lossScale = read("loss_scale");
    metrics.isGuarded = results.function->findOutput("skipped") != nullptr;
    if (metrics.isGuarded)
      metrics.skipped = read("skipped") != 0;
    metrics.samples = manifest.getBatch(variants[group]) * getStepParts();
    metrics.cost = costs[group];
    if (diagnoser)
      diagnoser->addData(spent);
    if (isDataOfInterest(options))
      metrics.data = {spent.waitMs, spent.decodeMs, spent.depth};
    if (haveSequences(options.recipes) && spent.tokens.room != 0)
      metrics.data->padding = 1 - static_cast<double>(spent.tokens.tokens) /
                                      static_cast<double>(spent.tokens.room);
    if (timer)
      timer->addResults(metrics.loss, waitedMs);
    int64_t epoch = sampler->getEpoch(number - 1) + 1;
    metrics.epoch = epoch;
    progress->add(metrics, endsEpoch(number), number == totalSteps, waitedMs,
                  spent.tokens.tokens);
    if (endsEpoch(number))
      progress->endEpoch(epoch, totalSteps);
    else
      progress->show(epoch, totalSteps);
  }
  checkLog();
}

void Trainer::checkLog() {
  const std::optional<Error> &problem =
      board && board->getProblem() ? board->getProblem() : log->getProblem();
  if (problem && !hasLogGap)
    outcome.warn(*problem);
  hasLogGap = problem.has_value();
}

/// Does what is due after a step; returns whether the run ends early.
bool Trainer::takeTurns() {
  bool evaluatesNow = options.evalEvery
                          ? step % *options.evalEvery == 0 || step == totalSteps
                          : endsEpoch(step);
  if (evaluatesNow)
    evaluateAndLog();
  if (options.saveEvery && step % *options.saveEvery == 0) {
    // Rank 0 may be the only one that saves.
    session.completeState();
    save(/*isBest=*/false);
  }
  if (saver)
    saver->report();
  if (shouldStop()) {
    const char *signal = getReceivedSignalName();
    console.line(fmt::format("{}: stopping after step {}",
                             signal ? signal : "another rank", step));
    stopped = true;
  }
  return evaluatesNow && !stopped && stopsEarly();
}

void Trainer::reportSkipped(int64_t taken) {
  int64_t skipped = progress->getSkippedSteps();
  if (skipped == 0)
    return;
  console.line(fmt::format("{} of {} steps were skipped: their gradients "
                           "overflowed",
                           skipped, step));
  if (skipped >= taken && !stopped)
    throw failure(fmt::format("step {}", step),
                  "no step has changed the model: the gradients of all were "
                  "not finite",
                  "take more steps, lower --lr, or check the data for NaN; "
                  "--watch nan names the first op");
}

StepStatistics::ReadCommunication Trainer::makeCommunicationReader() {
  // A GPU waits for its collectives by itself.
  if (ranks.getSize() == 1 || manifest.targetKind != "cpu")
    return nullptr;
  return [this] {
    const Communicator::Use &use = ranks.getUse();
    return CommunicationUse{use.waitSeconds, use.bytes};
  };
}

void Trainer::run() {
  watchSignals();
  progress.emplace(
      console, *log, watch.get(),
      Progress::Settings{options.logEvery,
                         options.isGiven("--log-every") ? options.logEvery : 0,
                         options.nan == NanPolicy::Skip,
                         makeCommunicationReader()},
      [&](int64_t number) -> std::optional<std::string> {
        if (order)
          return data[0]->findProblem(
              session.findFunction("train_step", variants[0])->spec->inputs,
              order->getSamples(number - 1));
        Sampler::Batch batch = sampler->getBatch(number - 1);
        return data[batch.group]->findProblem(
            session.findFunction("train_step", variants[batch.group])
                ->spec->inputs,
            batch.samples);
      });
  for (size_t variant : variants)
    costs.push_back(getStepCost(manifest, variant, ranks.getSize()));
  startFeed();
  if (saver && options.overwrite && ranks.getRank() == 0)
    removeCheckpoints(options.save);
  if (saver && (options.saveEvery || best))
    saver->prepare(average ? &*average : nullptr);
  const int64_t firstStep = step;
  // A run that may go back needs something to go back to.
  bool goesBack = options.nan == NanPolicy::Rollback && totalSteps > step;
  if (goesBack && options.resume.empty())
    saveLast();
  // The run that is resumed may have come to its end.
  bool isOver = resumedSettings && stopsEarly();
  while (step < totalSteps && !stopped && !isOver) {
    try {
      if (!hasNextStep()) {
        checkWeights();
        break;
      }
      trainStep();
      bool isEnd = takeTurns() || (diagnoser && diagnoser->isDone()) ||
                   (timer && timer->isDone());
      if (isEnd || stopped || step == totalSteps)
        checkWeights();
      if (isEnd)
        break;
    } catch (const NotFinite &problem) {
      if (!goesBack) {
        if (saver)
          saver->wait();
        throw;
      }
      rollBack(problem);
    }
  }
  feed.reset();
  finishSteps();
  ranks.waitForAll();
  session.completeState();
  console.clearProgress();
  if (profiler)
    profiler->finish();
  if (bucketTuner)
    bucketTuner->finish();
  if (diagnoser) {
    finishDiagnosis();
    return;
  }
  if (timer) {
    if (stopped)
      outcome.endBySignal(getReceivedSignal());
    return;
  }
  reportSkipped(step - firstStep);
  if (options.watch == "stats")
    console.line(watch->makeTable());
  saveLast();
  if (!stopped)
    evaluateAndLog();
  // The last evaluation may have found the best.
  saveLast();
  if (stopped || isEvaluationCut)
    outcome.endBySignal(getReceivedSignal());
  // From here on rank 0 may be the only one that works.
  ranks.setInterruption({});
  writeResults();
  if (const std::optional<Error> &problem = log->getProblem())
    outcome.add(*problem);
  if (board && board->getProblem())
    outcome.add(*board->getProblem());
}
