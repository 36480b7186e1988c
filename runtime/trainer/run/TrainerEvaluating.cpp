// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a run evaluates, and what follows from it.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Console.h"
#include "runtime/core/Error.h"
#include "runtime/trainer/evaluate/Evaluate.h"
#include "runtime/trainer/evaluate/EvaluationMetrics.h"
#include "runtime/trainer/loop/Trainer.h"

#include <cmath>
#include <filesystem>
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
    isBestNow = result && best && best->add(step, result->metrics);
    if (isBestNow && bestWeights)
      bestWeights->keep(step);
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
  if (isBestNow)
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
  console.line(fmt::format(
      "{} has been no better than {:.4f}{}, at step {}, in {} evaluations: "
      "stopping after step {}",
      found.metric, found.value,
      options.minDelta == 0 ? ""
                            : fmt::format(" by more than {}", options.minDelta),
      found.step, found.since, step));
  return true;
}

void Trainer::openBest() {
  best.emplace(options.best.empty() ? "eval_loss" : options.best,
               listMetrics(manifest), options.minDelta);
  if (resumedSettings)
    best->resume(resumedSettings->best);
  bool isUsed = !options.exportPath.empty() || !options.predict.empty();
  if (isUsed && options.exportWeights != "last")
    bestWeights.emplace(session);
}

std::string Trainer::findBestCheckpoint() const {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!options.checkpoints.empty() &&
      fs::exists(options.checkpoints + "/best", error))
    return options.checkpoints + "/best";
  // What is resumed is a folder of checkpoints, or something in one.
  fs::path folder = options.resume;
  if (!fs::exists(folder / "latest", error))
    folder = folder.has_filename() ? folder.parent_path()
                                   : folder.parent_path().parent_path();
  return (folder / "best").string();
}

void Trainer::chooseWeights() {
  if (!bestWeights || best->get().step == 0) {
    if (average)
      average->exchange();
    if (bestWeights)
      console.line(
          fmt::format("results are of step {}: there was no evaluation", step));
    else if (best && best->get().step != 0 &&
             !(options.exportPath.empty() && options.predict.empty()))
      console.line(fmt::format("results are of step {}, the last: {} was best "
                               "at step {}, {:.4f}",
                               step, best->get().metric, best->get().step,
                               best->get().value));
    return;
  }
  const RunSettings::Best &found = best->get();
  if (bestWeights->getStep() == found.step) {
    bestWeights->restore();
  } else {
    // It was found before the run was resumed.
    bool isThere = found.step == step;
    if (!isThere)
      outcome.attempt([&] {
        session.fetchState();
        std::string path = findBestCheckpoint();
        CheckpointInfo info = readCheckpoint(path);
        isThere = info.step == found.step;
        session.storeState();
        if (!isThere)
          throw failure(path,
                        fmt::format("is of step {}, but {} was best at step "
                                    "{}: there are no results",
                                    info.step, found.metric, found.step),
                        "give --export-weights last");
      });
    if (!isThere) {
      options.exportPath.clear();
      options.predict.clear();
      return;
    }
    if (average)
      average->exchange();
  }
  console.line(fmt::format("results are of step {}, whose {} was best: {:.4f}",
                           found.step, found.metric, found.value));
}
