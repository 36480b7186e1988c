// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a run evaluates, and what follows from it.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/trainer/loop/Evaluate.h"
#include "runtime/trainer/loop/Trainer.h"
#include "runtime/trainer/run/EvaluationMetrics.h"

#include <cmath>
#include <fmt/format.h>

using namespace ingot::runtime;

std::optional<Evaluation> Trainer::evaluateWeights() {
  auto exchange = [&] {
    if (average && saver)
      saver->finishCopy();
    if (average)
      average->exchange();
  };
  exchange();
  DeviceRange range(*session.getContext().device, "evaluation");
  try {
    auto result =
        evaluate(session, evalData, variants, options, ranks, console);
    exchange();
    return result;
  } catch (const Error &) {
    exchange();
    throw;
  }
}

void Trainer::evaluateAndLog() {
  if (!evaluates || evaluatedStep == step)
    return;
  finishSteps();
  // A rank may have fewer batches than others, or none.
  session.completeState();
  progress->pause();
  std::optional<Evaluation> result = evaluateWeights();
  progress->resume();
  isEvaluationCut = !result;
  if (isEvaluationCut)
    return;
  evaluatedStep = step;
  log->write(EvalMetrics{step, result->metrics, result->tables});
  checkLog();
  std::string text = fmt::format("step {}", step);
  for (const auto &[name, value] : result->metrics)
    // Whether it has a sign depends on the processor.
    text += fmt::format("  {} {:.4f}", name,
                        std::isnan(value) ? std::abs(value) : value);
  console.line(text);
  if (plateau)
    followPlateau(result->metrics);
  if (best && best->add(step, result->metrics) && !options.best.empty())
    save(/*isBest=*/true);
}

void Trainer::startPlateau() {
  if (schedule.shape.kind != ScheduleKind::Plateau || step >= totalSteps)
    return;
  if (!evaluates)
    throw usageError("--schedule", "plateau needs --eval-data",
                     "give --eval-data FILE.npz, whose evaluations the "
                     "learning rate follows");
  std::string metric = options.best.empty() ? "eval_loss" : options.best;
  BestEvaluation known(metric, listMetrics(manifest));
  auto rate = options.hyperparameters.find("lr");
  plateau.emplace(schedule.shape, known.get().metric, known.getWantsLess(),
                  rate == options.hyperparameters.end() ? 0 : rate->second,
                  schedule.least);
  if (resumedSettings)
    plateau->resume(resumedSettings->plateau);
}

void Trainer::followPlateau(const MetricList &metrics) {
  const std::string &metric = plateau->getState().metric;
  for (const auto &[name, value] : metrics)
    if (name == metric && plateau->add(value))
      console.line(fmt::format(
          "{} has made no progress in {} evaluations: the learning rate falls "
          "to {:g}",
          metric, schedule.shape.patience + 1,
          options.hyperparameters["lr"] * rateScale * plateau->getFactor()));
}

bool Trainer::stopsEarly() {
  if (!options.earlyStop || best->get().since < *options.earlyStop)
    return false;
  const RunSettings::Best &found = best->get();
  console.line(fmt::format("{} has been no better than {:.4f}, at step {}, in "
                           "{} evaluations: stopping after step {}",
                           found.metric, found.value, found.step, found.since,
                           step));
  return true;
}
