// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/evaluate/Evaluator.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/evaluate/EvaluationMetrics.h"
#include "runtime/trainer/run/Outcome.h"
#include "runtime/trainer/state/ShardedModel.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>

using namespace ingot::runtime;

/// The metric that is followed unless --best names another.
static std::string getMetric(const SaveOptions &options) {
  return options.best.value_or("eval_loss");
}

Evaluator::Evaluator(const RunContext &context, const RunData &data,
                     const RunStart &start, RunPlan &plan,
                     Checkpointing &checkpointing)
    : context(context), data(data), plan(plan), checkpointing(checkpointing) {
  if (context.options.seeksBest())
    openBest(start);
  if (plan.getSchedule().shape.kind == ScheduleKind::Plateau && !plan.isOver())
    openPlateau(start);
}

void Evaluator::openBest(const RunStart &start) {
  const Options &options = context.options;
  best.emplace(getMetric(options.save), listMetrics(context.getManifest()),
               options.run.minDelta);
  if (start.settings)
    best->resume(start.settings->best);
  bool isUsed = options.save.hasResults();
  // Rank 0 writes what all ranks keep.
  if (isModelInShards(context.session))
    isUsed = context.ranks.agree(isUsed, "weights of the best evaluation") != 0;
  if (isUsed && options.save.exportWeights != ExportWeights::Last)
    bestWeights.emplace(context.session);
}

void Evaluator::openPlateau(const RunStart &start) {
  if (!data.canEvaluate())
    throw usageError("--schedule", "plateau needs --eval-data",
                     "give --eval-data FILE.npz, whose evaluations the "
                     "learning rate follows");
  BestEvaluation known(getMetric(context.options.save),
                       listMetrics(context.getManifest()));
  auto rate = context.options.run.hyperparameters.find("lr");
  plan.followMetric(
      known.get().metric, known.getWantsLess(),
      rate == context.options.run.hyperparameters.end() ? 0 : rate->second,
      start.settings ? &*start.settings : nullptr);
}

bool Evaluator::isDue() const {
  return data.canEvaluate() && evaluatedStep != plan.getStep();
}

std::optional<Evaluation> Evaluator::evaluate() {
  checkpointing.exchangeAverage();
  DeviceRange range(*context.session.getContext().device, "evaluation");
  try {
    auto result = ingot::runtime::evaluate(context, data.getEvaluation(),
                                           data.getVariants());
    isBest = result && best && best->add(plan.getStep(), result->metrics);
    if (isBest && bestWeights)
      bestWeights->keep(plan.getStep());
    checkpointing.exchangeAverage();
    if (result)
      evaluatedStep = plan.getStep();
    return result;
  } catch (const Error &) {
    checkpointing.exchangeAverage();
    throw;
  }
}

void Evaluator::report(const Evaluation &evaluation, TrainingLog &log) {
  log.write(EvalMetrics{plan.getStep(), evaluation.metrics, evaluation.tables});
  log.check();
  std::string text = fmt::format("step {}", plan.getStep());
  for (const auto &[name, value] : evaluation.metrics)
    // Whether it has a sign depends on the processor.
    text += fmt::format("  {} {:.4f}", name,
                        std::isnan(value) ? std::abs(value) : value);
  context.console.line(text);
  if (evaluation.problem && !hasWarned)
    context.outcome.warn(*evaluation.problem);
  hasWarned |= evaluation.problem.has_value();
  Plateau *plateau = plan.getPlateau();
  if (!plateau)
    return;
  const std::string &metric = plateau->getState().metric;
  for (const auto &[name, value] : evaluation.metrics)
    if (name == metric && plateau->add(value))
      context.console.line(fmt::format(
          "{} has made no progress in {} evaluations: the learning rate falls "
          "to {:g}",
          metric, plan.getSchedule().shape.patience + 1,
          context.options.run.hyperparameters["lr"] * plan.getRateScale() *
              plateau->getFactor()));
}

bool Evaluator::isStepBest() const {
  return best && best->get().step == plan.getStep() &&
         evaluatedStep == plan.getStep();
}

bool Evaluator::stopsEarly() const {
  const Options &options = context.options;
  if (!options.run.earlyStop || best->get().since < *options.run.earlyStop)
    return false;
  const RunSettings::Best &found = best->get();
  context.console.line(fmt::format(
      "{} has been no better than {:.4f}{}, at step {}, in {} evaluations: "
      "stopping after step {}",
      found.metric, found.value,
      options.run.minDelta == 0
          ? ""
          : fmt::format(" by more than {}", options.run.minDelta),
      found.step, found.since, plan.getStep()));
  return true;
}

std::string Evaluator::findBestCheckpoint() const {
  namespace fs = std::filesystem;
  const Options &options = context.options;
  std::error_code error;
  if (!options.save.checkpoints.empty() &&
      fs::exists(options.save.checkpoints + "/best", error))
    return options.save.checkpoints + "/best";
  // What is resumed is a folder of checkpoints, or something in one.
  fs::path folder = options.save.resume.value_or("");
  if (!fs::exists(folder / "latest", error))
    folder = folder.has_filename() ? folder.parent_path()
                                   : folder.parent_path().parent_path();
  return (folder / "best").string();
}

/// Reads the best weights of a run that ended before this one resumed it.
bool Evaluator::readBest() {
  const RunSettings::Best &found = best->get();
  if (found.step == plan.getStep())
    return true;
  return context.outcome.attempt([&] {
    context.session.fetchState();
    std::string path = findBestCheckpoint();
    CheckpointInfo info = checkpointing.read(path);
    context.session.storeState();
    if (info.step != found.step)
      throw failure(path,
                    fmt::format("is of step {}, but {} was best at step "
                                "{}: there are no results",
                                info.step, found.metric, found.step),
                    "give --export-weights last");
  });
}

/// Says that results are of the last step, where one may expect others.
void Evaluator::describeLast() const {
  const Options &options = context.options;
  if (bestWeights)
    context.console.line(fmt::format(
        "results are of step {}: there was no evaluation", plan.getStep()));
  else if (best && best->get().step != 0 && options.save.hasResults())
    context.console.line(fmt::format(
        "results are of step {}, the last: {} was best at step {}, {:.4f}",
        plan.getStep(), best->get().metric, best->get().step,
        best->get().value));
}

bool Evaluator::chooseWeights() {
  if (!bestWeights || best->get().step == 0) {
    checkpointing.exchangeAverage();
    describeLast();
    return true;
  }
  const RunSettings::Best &found = best->get();
  if (bestWeights->getStep() == found.step) {
    bestWeights->restore();
  } else {
    if (!readBest())
      return false;
    checkpointing.exchangeAverage();
  }
  context.console.line(
      fmt::format("results are of step {}, whose {} was best: {:.4f}",
                  found.step, found.metric, found.value));
  return true;
}
