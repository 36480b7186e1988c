// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/loop/StepRunner.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/sequences/SequenceInputs.h"
#include "runtime/observe/profile/Profile.h"
#include "runtime/trainer/run/RunHeader.h"

#include <algorithm>
#include <chrono>
#include <utility>

using namespace ingot::runtime;

StepRunner::StepRunner(const RunContext &context, const RunData &data,
                       RunPlan &plan, const StepHooks &hooks,
                       Progress &progress, TrainingLog &log)
    : context(context), data(data), plan(plan), hooks(hooks),
      progress(progress), log(log) {
  for (size_t variant : data.getVariants())
    costs.push_back(getStepCost(context.getManifest(), variant,
                                context.dataRanks.getSize()));
  if (std::none_of(hooks.begin(), hooks.end(),
                   [](auto &hook) { return hook->needsEachStep(); }))
    stepsAhead = context.session.getRunsAhead();
}

void StepRunner::open() {
  feed = data.makeFeed(plan.getStep(), plan.getTotal());
}

void StepRunner::drop() {
  started.clear();
  feed.reset();
}

bool StepRunner::waitForNext() {
  // What is known of earlier steps is shown while nothing else happens.
  if (!feed->isReady())
    finish();
  auto begin = std::chrono::steady_clock::now();
  bool hasNext = feed->waitForNext();
  dataMs += std::chrono::duration<double, std::milli>(
                std::chrono::steady_clock::now() - begin)
                .count();
  return hasNext;
}

double StepRunner::findRateFactor() {
  auto countUpdates = [&] {
    return plan.getStep() - skippedBefore - progress.getSkippedSteps();
  };
  if (context.getManifest().findState("loss_scale") &&
      !plan.isRateKnown(countUpdates(), static_cast<int64_t>(started.size())))
    finish();
  return plan.getRateFactor(countUpdates());
}

void StepRunner::visit(int64_t number,
                       const std::function<void(StepHook &)> &call) {
  bool isInspected = std::any_of(hooks.begin(), hooks.end(), [&](auto &hook) {
    return hook->inspects(number);
  });
  if (isInspected) {
    finish();
    progress.pause();
    context.session.completeState();
  }
  for (const auto &hook : hooks)
    call(*hook);
  if (isInspected)
    progress.resume();
}

ingot_observer *StepRunner::findObserver(int64_t number) const {
  ingot_observer *observer = nullptr;
  for (const auto &hook : hooks)
    if (ingot_observer *own = hook->getObserver(number))
      observer = own;
  return observer;
}

void StepRunner::start(const Function &last, size_t variant,
                       const std::map<std::string, double> &hyperparameters) {
  const Manifest &manifest = context.getManifest();
  Session &session = context.session;
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
    for (const auto &hook : hooks) {
      hook->addWait(wait);
      hook->startFunction(*part.spec);
    }
    session.run(part, hyperparameters, manifest.getBatch(variant));
  }
}

void StepRunner::run() {
  Session &session = context.session;
  ingot_context &device = session.getContext();
  DeviceRange range(*device.device, "step");
  int64_t number = plan.getStep() + 1;
  size_t group = data.getGroup(plan.getStep());
  size_t variant = data.getVariants()[group];
  context.ranks.setStep(number);
  bool isUncompressed =
      plan.getStep() < context.getManifest().uncompressedSteps;
  const Function &function = *session.findFunction(
      isUncompressed ? "uncompressed_step" : "train_step", variant);
  std::map<std::string, double> values = context.options.run.hyperparameters;
  double factor = 1;
  if (auto rate = values.find("lr"); rate != values.end())
    rate->second *= factor = findRateFactor();
  visit(number, [&](StepHook &hook) { hook.startStep(number); });
  device.observer = findObserver(number);
  try {
    start(function, variant, values);
  } catch (const Error &) {
    // Earlier steps did run, whatever made this one fail.
    finish();
    throw;
  }
  device.observer = nullptr;
  session.printNotes(context.console);
  data.getTraining()[group]->printNotes(context.console);
  feed->printNotes(context.console);
  for (const auto &hook : hooks)
    hook->checkStep();
  plan.endStep();
  started.push_back({number, values.count("lr") ? values["lr"] : 0,
                     std::exchange(dataMs, 0), session.fetchResults(function),
                     group, feed->takeTimes()});
  finish(stepsAhead);
  visit(number, [&](StepHook &hook) { hook.endStep(number, factor); });
}

StepMetrics StepRunner::read(const Started &step) const {
  const FunctionSpec &function = *step.results.function;
  auto readScalar = [&](std::string_view output) {
    return static_cast<float>(context.session.readScalar(step.results, output));
  };
  StepMetrics metrics;
  metrics.step = step.number;
  metrics.lr = step.rate;
  metrics.loss = readScalar("loss");
  if (function.findOutput("grad_norm"))
    metrics.gradNorm = readScalar("grad_norm");
  if (function.findOutput("loss_scale"))
    metrics.lossScale = readScalar("loss_scale");
  for (const TensorSpec &output : function.outputs)
    if (std::string name = MetricSums::getName(output.name); !name.empty())
      metrics.sums.add(name, context.session.readValues(step.results, output));
  metrics.isGuarded = function.findOutput("skipped") != nullptr;
  if (metrics.isGuarded)
    metrics.skipped = readScalar("skipped") != 0;
  metrics.samples =
      context.getManifest().getBatch(data.getVariants()[step.group]) *
      data.getStepParts();
  metrics.cost = costs[step.group];
  metrics.epoch = plan.getEpoch(step.number);
  const QueueTimes &spent = step.data;
  if (isDataOfInterest(context.options))
    metrics.data = {spent.waitMs, spent.decodeMs, spent.depth};
  if (haveSequences(context.options.data.recipes) && spent.tokens.room != 0)
    metrics.data->padding = 1 - static_cast<double>(spent.tokens.tokens) /
                                    static_cast<double>(spent.tokens.room);
  return metrics;
}

void StepRunner::finish(size_t inFlight) {
  while (started.size() > inFlight) {
    Started step = started.front();
    started.pop_front();
    StepMetrics metrics = read(step);
    for (const auto &hook : hooks)
      hook->addMetrics(metrics);
    for (const auto &hook : hooks)
      hook->addResults({metrics, step.data, step.dataMs});
    bool endsEpoch = plan.endsEpoch(step.number);
    progress.add(metrics, endsEpoch, step.number == plan.getTotal(),
                 step.dataMs, step.data.tokens.tokens);
    if (endsEpoch)
      progress.endEpoch(metrics.epoch, plan.getTotal());
    else
      progress.show(metrics.epoch, plan.getTotal());
  }
  log.check();
}
