// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/loop/Trainer.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/evaluate/Evaluate.h"
#include "runtime/trainer/hooks/Hooks.h"
#include "runtime/trainer/input/StreamOrder.h"
#include "runtime/trainer/options/Configuration.h"
#include "runtime/trainer/options/Paths.h"
#include "runtime/trainer/options/TrainerOptions.h"
#include "runtime/trainer/quantize/QuantizerPart.h"
#include "runtime/trainer/run/Outcome.h"
#include "runtime/trainer/run/Resume.h"
#include "runtime/trainer/run/RunHeader.h"
#include "runtime/trainer/run/StopRequest.h"
#include "runtime/trainer/state/ShardedModel.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/weights/CodesExport.h"
#include "runtime/trainer/weights/FiniteWeights.h"
#include "runtime/trainer/weights/WeightExport.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <functional>

using namespace ingot::runtime;

/// Prepares the outputs before anything is read.
static const RunContext &prepareOutputs(const RunContext &context) {
  collectPaths(context.options, context.session.getManifest(),
               context.ranks.getSize())
      .prepare();
  return context;
}

/// Returns the updates that the states count, where a step may make none.
static std::optional<int64_t> readUpdates(Session &session) {
  std::optional<int64_t> updates;
  for (const StateSpec &spec : session.getManifest().states)
    if (spec.role == StateRole::Step)
      updates = static_cast<int64_t>(
          readAsDouble(session.getPlace(spec), spec.dtype));
  return updates;
}

Trainer::Trainer(const RunContext &given)
    : context(prepareOutputs(given)),
      isMeasured(countMeasuredSteps(given.options).has_value()),
      checkpointing(context, [this] { return describe(); }), begin(start()),
      data(context, begin),
      plan(context.options.run, begin, data.getSampler(),
           countMeasuredSteps(context.options), data.isEndless()),
      evaluator(context, data, begin, plan, checkpointing),
      agreement(context.ranks, context.stop) {
  Options &options = context.options;
  if (begin.settings && !options.run.evaluatesOnly())
    compareRuns(describeSettings(), *begin.settings, plan.getStep(),
                plan.isEndless(), context.console);
  compareRanks();
  log.emplace(context, plan.getStep(), data.getClasses());
  writeHeader();
  hooks = makeHooks(context,
                    {plan, checkpointing, log->getBoard(),
                     [this](int64_t workers) { runner->setWorkers(workers); }});
}

Trainer::~Trainer() { context.session.getContext().observer = nullptr; }

RunStart Trainer::start() {
  Session &session = context.session;
  const Options &options = context.options;
  if (options.save.exportPath)
    checkExportable(session, *options.save.exportPath);
  RunStart start = checkpointing.start();
  shareState(session, context.ranks, start.step);
  if (const StateSpec *scale = session.getManifest().findState("loss_scale")) {
    if (options.run.lossScale)
      convert(&*options.run.lossScale, DType::F64, session.getPlace(*scale),
              scale->dtype, 1);
    start.skipped = start.step - readUpdates(session).value_or(start.step);
  }
  session.storeState();
  context.ranks.setInterruption(
      [&stop = context.stop] { return stop.getTermination(); },
      [this](const Error &error) {
        context.outcome.warn(error);
        if (context.options.ranks.record)
          context.ranks.writeEvents(
              context.options.ranks.getRecordPath(context.ranks.getRank()));
      });
  return start;
}

void Trainer::writeHeader() {
  const Options &options = context.options;
  bool evaluatesOnly = options.run.evaluatesOnly();
  std::string header = describeRun(
      context.getManifest(), context.session.getDevice().describe(),
      context.ranks.getSize(),
      plan.isEndless() ? "until the samples end"
      : !evaluatesOnly ? fmt::format("{} {}", plan.getTotal(),
                                     plan.getTotal() == 1 ? "step" : "steps")
      : plan.getStep() != 0 ? fmt::format("evaluates step {}", plan.getStep())
                            : "evaluates the first weights");
  context.console.line(header);
  if (std::string names = listWithoutEffect(options); !names.empty())
    context.console.noteOnce("--evaluate takes no step and saves nothing, so "
                             "that these options have no effect: " +
                             names);
  // The options of the run that is evaluated stay beside its log.
  std::string path = options.observe.getConfigurationPath();
  bool isKept = evaluatesOnly && std::filesystem::exists(path);
  if (options.observe.log && !isKept)
    context.outcome.attempt(
        [&] { writeConfiguration(path, header, options.line.configuration); });
}

RunSettings Trainer::describeSettings() const {
  const Options &options = context.options;
  RunSettings settings;
  settings.hyperparameters = options.run.hyperparameters;
  settings.schedule = options.run.schedule.str();
  settings.warmup = options.run.warmup;
  settings.minLr = options.run.minLr;
  // A run that ends with its stream goes on with the next one.
  settings.totalSteps = plan.isEndless() ? 0 : plan.getTotal();
  settings.ranks = context.dataRanks.getSize();
  settings.stepSamples = data.getStepSamples();
  if (Sampler *sampler = data.getSampler()) {
    Sampler::Position position = sampler->getPosition(plan.getStep());
    settings.position = {position.epoch, position.taken};
  }
  settings.classes = data.getClasses();
  TokenOffsets offsets = options.data.tokenOffsets;
  settings.tokenOffsets = !begin.shuffle                    ? "fixed"
                          : offsets == TokenOffsets::Moving ? "auto"
                                                            : getName(offsets);
  settings.evalBatches = options.data.evalBatches.value_or(0);
  settings.batchTokens = options.data.batchTokens.value_or(0);
  settings.ema = options.run.ema.value_or(0);
  settings.rateScale = plan.getRateScale();
  if (const RunSettings::Best *best = evaluator.getBest())
    settings.best = *best;
  if (const Plateau *plateau = plan.getPlateau())
    settings.plateau = plateau->getState();
  settings.command = context.getManifest().command;
  settings.recipe = context.getManifest().recipe;
  settings.threads = context.session.getDevice().getParallelism().threads;
  settings.options = options.line.shaping;
  return settings;
}

CheckpointInfo Trainer::describe() const {
  CheckpointInfo info;
  info.step = plan.getStep();
  info.seed = begin.seed;
  info.shuffle = begin.shuffle;
  if (data.getTraining().empty()) {
    // A run that only evaluates keeps what it resumed.
    info.samples = begin.samples;
    info.settings = begin.settings;
    return info;
  }
  info.samples = data.countTraining();
  info.settings = describeSettings();
  return info;
}

void Trainer::compareRanks() {
  const Options &options = context.options;
  CheckpointFile own;
  own.info = describe();
  RunSettings settings = own.info.settings.value_or(RunSettings());
  std::string rates, schedule = fmt::format("{} {} {}", settings.schedule,
                                            settings.warmup, settings.minLr);
  for (const auto &[name, value] : settings.hyperparameters)
    rates += fmt::format("{} {} ", name, value);
  // What decides which collectives there are, and when. Only rank 0 heeds other
  // options, or each rank for itself.
  std::string hint = "give all ranks the same options, and as many samples";
  context.ranks.checkEqual(
      {{"--steps or --epochs", plan.getTotal()},
       {"number of samples in --data", own.info.samples},
       {"--seed", own.info.seed},
       {"--no-shuffle", own.info.shuffle},
       {"--lr or other hyperparameter", computeCrc32(rates)},
       {"--schedule, --warmup or --min-lr", computeCrc32(schedule)},
       {"--ema", computeCrc32(fmt::format("{}", settings.ema))},
       {"--eval-every", options.data.evalEvery.value_or(0)},
       {"number of samples in --eval-data", data.countEvaluation()},
       {"--save-every", options.save.saveEvery.value_or(0)},
       {"--best", computeCrc32(options.save.best.value_or(""))},
       {"--early-stop", options.run.earlyStop.value_or(0)},
       {"--max-time", options.run.maxTime ? 1 : 0},
       {"--nan", static_cast<int64_t>(options.run.nan)},
       {"--histogram-every", options.observe.histogramEvery.value_or(0)},
       {"--diagnose", options.report.diagnose ? 1 : 0},
       {"--tune", options.tune.isOn ? 1 : 0},
       {"--tune=measure", options.tune.measureSeconds ? 1 : 0}},
      hint);
  // Machines of a run may differ.
  if (own.info.settings)
    own.info.settings->threads = 0;
  context.ranks.checkEqual(computeCrc32(formatInfo(own)), "run", hint);
}

Progress::Settings Trainer::makeProgressSettings() const {
  const Options &options = context.options;
  Communicator &ranks = context.ranks;
  Progress::Settings settings;
  settings.logEvery = options.observe.logEvery;
  bool printsLogged = options.line.isGiven("--log-every");
  settings.printEvery = options.observe.printEvery.value_or(
      printsLogged ? options.observe.logEvery : 0);
  settings.metrics = context.getManifest().trainMetrics;
  settings.skips = options.run.nan == NanPolicy::Skip;
  if (ranks.getSize() > 1 &&
      context.session.getDevice().getTraits().exchangesOnHost)
    settings.readCommunication = [&ranks] {
      const Communicator::Use &use = ranks.getUse();
      return CommunicationUse{use.waitSeconds, use.bytes};
    };
  return settings;
}

void Trainer::run() {
  const Watch *watch = nullptr;
  for (const auto &hook : hooks)
    if (const Watch *own = hook->getWatch())
      watch = own;
  progress.emplace(
      context.console, log->getMetrics(), watch, makeProgressSettings(),
      [this](int64_t number) { return data.findProblem(number - 1); });
  if (!context.getManifest().quantizers.empty())
    ingot_quantizers()->calibrate(context, data.getTraining(),
                                  data.getVariants());
  runner.emplace(context, data, plan, hooks, *progress, *log);
  runner->setSkipped(begin.skipped);
  runner->open();
  checkpointing.open(context.options.save.saveEvery || evaluator.getBest());
  takeSteps();
  if (!isMeasured)
    conclude();
  if (stopped || isEvaluationCut)
    context.outcome.endBySignal(context.stop.getSignal());
  if (isMeasured)
    return;
  // From here on rank 0 may be the only one that works.
  if (!isModelInShards(context.session))
    context.ranks.setInterruption({});
  writeResults();
  context.ranks.setInterruption({});
  log->finish();
}

void Trainer::takeSteps() {
  // A run that may go back needs something to go back to.
  bool goesBack =
      context.options.run.nan == NanPolicy::Rollback && !plan.isOver();
  if (goesBack && !context.options.save.resume)
    checkpointing.saveLast(/*isBest=*/false);
  // The run that is resumed may have come to its end.
  bool isEnd = begin.settings && evaluator.stopsEarly();
  while (!plan.isOver() && !stopped && !isEnd) {
    try {
      if (!hasNextStep()) {
        checkWeights();
        break;
      }
      runner->run();
      isEnd = takeTurns();
      for (const auto &hook : hooks)
        isEnd |= hook->isDone();
      if (isEnd || stopped || plan.isOver())
        checkWeights();
    } catch (const NotFinite &problem) {
      if (!goesBack) {
        checkpointing.wait();
        throw;
      }
      goBack(problem);
      isEnd = false;
    }
  }
  runner->close();
  runner->finish();
  context.session.completeState();
  context.console.clearProgress();
  for (const auto &hook : hooks)
    hook->finish();
}

bool Trainer::hasNextStep() {
  if (!data.getStream() || runner->waitForNext())
    return true;
  runner->finish();
  int64_t step = plan.getStep();
  if (context.stop.getSignal() != 0) {
    context.console.line(fmt::format("{}: stopping after step {}",
                                     context.stop.getName(), step));
    stopped = true;
    return false;
  }
  int64_t left = data.getStream()->countLeft();
  std::string rest =
      left == 0 ? ""
                : fmt::format("; {} more {} not fill a step", left,
                              left == 1 ? "sample does" : "samples do");
  if (progress->getSteps() == 0)
    throw badInput(context.options.data.training.front(),
                   begin.settings
                       ? "there are no samples behind those of the "
                         "checkpoint's run" +
                             rest
                       : fmt::format("{} samples, fewer than a batch of {}",
                                     left, data.getStepSamples()),
                   "write more samples, or compile with a smaller --batch");
  progress->endEpoch(1, plan.isEndless() ? step : plan.getTotal());
  context.console.line(fmt::format(
      "the samples end after step {}{}{}", step,
      plan.isEndless() ? "" : fmt::format(" of {}", plan.getTotal()), rest));
  plan.endHere();
  return false;
}

bool Trainer::takeTurns() {
  const Options &options = context.options;
  int64_t step = plan.getStep();
  bool evaluatesNow = options.data.evalEvery
                          ? step % *options.data.evalEvery == 0 || plan.isOver()
                          : plan.endsEpoch(step);
  if (evaluatesNow)
    evaluate();
  if (options.save.saveEvery && step % *options.save.saveEvery == 0) {
    // Rank 0 may be the only one that saves.
    context.session.completeState();
    save(/*isBest=*/false);
  }
  Saver *saver = checkpointing.getSaver();
  if (saver)
    saver->report();
  if (agreement.shouldStop(saver, plan.isOver())) {
    const char *signal = context.stop.getName();
    context.console.line(fmt::format("{}: stopping after step {}",
                                     signal ? signal : "another rank", step));
    stopped = true;
  }
  return evaluatesNow && !stopped && evaluator.stopsEarly();
}

void Trainer::evaluate() {
  if (!evaluator.isDue())
    return;
  runner->finish();
  // A rank may have fewer batches than others, or none.
  context.session.completeState();
  progress->pause();
  std::optional<Evaluation> result = evaluator.evaluate();
  progress->resume();
  isEvaluationCut = !result;
  if (isEvaluationCut)
    return;
  evaluator.report(*result, *log);
  if (evaluator.isBestNow())
    save(/*isBest=*/true);
}

void Trainer::save(bool isBest) {
  if (!checkpointing.isUsed())
    return;
  runner->finish();
  progress->pause();
  // What one rank writes is checked beside the training, as it is written.
  if (context.getManifest().hasShards() && context.ranks.getSize() > 1)
    checkWeights();
  auto start = std::chrono::steady_clock::now();
  checkpointing.save(isBest);
  double milliseconds = std::chrono::duration<double, std::milli>(
                            std::chrono::steady_clock::now() - start)
                            .count();
  progress->resume();
  if (checkpointing.getSaver())
    for (const auto &hook : hooks)
      hook->addSaving(milliseconds);
}

void Trainer::checkWeights() {
  // What is only measured may train as badly as it likes, and looking at a
  // device's weights takes a copy of them.
  if (isMeasured || !checkpointing.doWeightsLeave())
    return;
  runner->finish();
  context.session.completeState();
  if (auto problem = explainNotFinite(context.session, context.ranks,
                                      fmt::format("step {}", plan.getStep())))
    throw NotFinite(*problem);
}

void Trainer::goBack(const Error &problem) {
  Session &session = context.session;
  runner->drop();
  CheckpointInfo info = checkpointing.goBack(problem);
  const RunSettings *saved = info.settings ? &*info.settings : nullptr;
  plan.goBack(info.step, saved);
  shareState(session, context.ranks, info.step);
  if (std::optional<int64_t> updates = readUpdates(session))
    runner->setSkipped(info.step - progress->getSkippedSteps() - *updates);
  session.storeState();
  evaluator.goBack();
  log->cutAfter(info.step);
  if (Sampler *sampler = data.getSampler(); sampler && saved && saved->position)
    sampler->startAt(info.step,
                     {saved->position->epoch, saved->position->samples});
  runner->open();
  progress->resume();
  context.console.line(fmt::format("goes back to step {}, with {:g} of the "
                                   "learning rate",
                                   info.step, plan.getRateScale()));
}

void Trainer::reportSkipped() {
  int64_t skipped = progress->getSkippedSteps();
  if (skipped == 0)
    return;
  context.console.line(fmt::format("{} of {} steps were skipped: their "
                                   "gradients overflowed",
                                   skipped, plan.getStep()));
  if (skipped >= plan.getStep() - plan.getFirst() && !stopped)
    throw failure(fmt::format("step {}", plan.getStep()),
                  "no step has changed the model: the gradients of all were "
                  "not finite",
                  "take more steps, lower --lr, or check the data for NaN; "
                  "--watch nan names the first op");
}

void Trainer::conclude() {
  reportSkipped();
  checkpointing.saveLast(evaluator.isStepBest());
  if (!stopped)
    evaluate();
  // The last evaluation may have found the best.
  checkpointing.saveLast(evaluator.isStepBest());
}

void Trainer::writeResults() {
  if (isModelInShards(context.session)) {
    writeTogether();
    return;
  }
  if (!evaluator.chooseWeights())
    return;
  const Options &options = context.options;
  if (options.save.exportPath)
    context.outcome.attempt([&] {
      context.session.fetchState();
      if (!context.getManifest().quantizers.empty())
        ingot_quantizers()->checkKnown(context.session,
                                       *options.save.exportPath);
      exportModel(context.session, *options.save.exportPath, data.getClasses());
      if (!context.getManifest().adapters.empty() &&
          ingot_exported_codes != nullptr)
        ingot_exported_codes()->measure(
            context.session, [&] { return computeBatchLoss(); },
            [&](const std::string &text) { context.console.line(text); });
    });
  if (options.save.exportAdapter)
    context.outcome.attempt([&] {
      context.session.fetchState();
      exportAdapter(*options.save.exportAdapter);
    });
  if (options.save.predict)
    context.outcome.attempt([&] {
      checkFinite(context.session, *options.save.predict);
      predict(context, data.getEvaluation(), data.getVariants(),
              *options.save.predict);
    });
}

std::optional<double> Trainer::computeBatchLoss() {
  // Other ranks are not asked.
  if (context.ranks.getSize() > 1 || !data.canEvaluate() || isMeasured)
    return std::nullopt;
  std::optional<int64_t> batches = context.options.data.evalBatches;
  context.options.data.evalBatches = 1;
  auto evaluation = ingot::runtime::evaluate(context, data.getEvaluation(),
                                             data.getVariants());
  context.options.data.evalBatches = batches;
  if (!evaluation)
    return std::nullopt;
  return evaluation->metrics.front().second;
}

void Trainer::exportAdapter(const std::string &folder) {
  checkFinite(context.session, folder);
  ingot_adapters()->writeFiles(context.session, folder);
  std::string path = getSlotModelPath(folder);
  std::string reason = exportWithSlots(context.session, path);
  if (!reason.empty())
    context.console.noteOnce(path + ": not written: " + reason);
}

void Trainer::writeTogether() {
  const SaveOptions &options = context.options.save;
  Communicator &ranks = context.ranks;
  bool hasFailed = !evaluator.chooseWeights();
  if (ranks.agree(hasFailed, "the weights of the results") != 0)
    return;
  auto attempt = [&](const std::optional<std::string> &path, const char *what,
                     const std::function<void()> &write) {
    // Rank 0 may be writing what came before.
    if (ranks.agree(path.has_value(), what, Communicator::Lateness::Writing) ==
        0)
      return;
    context.outcome.attempt([&] {
      if (auto problem =
              explainNotFinite(context.session, ranks, path.value_or(what)))
        throw *problem;
      write();
    });
  };
  // The model is gathered once, for both.
  attempt(options.exportPath ? options.exportPath : options.exportAdapter,
          "an export", [&] {
            context.session.fetchState();
            gatherModel(context.session, ranks);
            if (options.exportPath)
              exportModel(context.session, *options.exportPath,
                          data.getClasses());
            if (options.exportAdapter)
              exportAdapter(*options.exportAdapter);
          });
  attempt(options.predict, "predictions", [&] {
    predict(context, data.getEvaluation(), data.getVariants(), options.predict);
  });
}

void Trainer::report(const StepHook::Print &print) {
  for (const auto &hook : hooks)
    hook->report(print);
}
