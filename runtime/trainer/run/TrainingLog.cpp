// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/run/TrainingLog.h"

#include "runtime/observe/tensorboard/TensorBoard.h"
#include "runtime/trainer/run/Outcome.h"

#include <limits>

using namespace ingot::runtime;

TrainingLog::TrainingLog(const RunContext &context, int64_t step,
                         const ClassNames &classes)
    : outcome(context.outcome) {
  const Options &options = context.options;
  std::optional<int64_t> resumedStep;
  if (options.save.resume)
    // An evaluation takes no step again.
    resumedStep = options.run.evaluatesOnly()
                      ? std::numeric_limits<int64_t>::max() - 1
                      : step;
  log = std::make_unique<MetricsLog>(options.observe.log.value_or(""),
                                     resumedStep,
                                     options.observe.logMostMb << 20);
  log->writeClasses(step, classes);
  if (!options.observe.tensorboard)
    return;
  board = std::make_unique<TensorBoard>(*options.observe.tensorboard,
                                        resumedStep.value_or(step));
  log->setFollower(board.get());
}

TrainingLog::~TrainingLog() = default;

void TrainingLog::check() {
  const std::optional<Error> &problem =
      board && board->getProblem() ? board->getProblem() : log->getProblem();
  if (problem && !hasGap)
    outcome.warn(*problem);
  hasGap = problem.has_value();
}

void TrainingLog::finish() {
  if (const std::optional<Error> &problem = log->getProblem())
    outcome.add(*problem);
  if (board && board->getProblem())
    outcome.add(*board->getProblem());
}
