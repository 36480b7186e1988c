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
  if (best && best->add(step, result->metrics) && !options.best.empty())
    save(/*isBest=*/true);
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
