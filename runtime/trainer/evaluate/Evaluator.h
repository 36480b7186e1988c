// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The evaluations of a run, and what follows from them: the best one, the
// learning rate of --schedule plateau, and an early end.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATOR_H
#define INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATOR_H

#include "runtime/trainer/evaluate/BestEvaluation.h"
#include "runtime/trainer/evaluate/Evaluate.h"
#include "runtime/trainer/input/RunData.h"
#include "runtime/trainer/run/RunContext.h"
#include "runtime/trainer/run/RunPlan.h"
#include "runtime/trainer/run/TrainingLog.h"
#include "runtime/trainer/save/Checkpointing.h"
#include "runtime/trainer/weights/BestWeights.h"

#include <optional>
#include <string>

namespace ingot::runtime {

class Evaluator {
public:
  /// Follows the best evaluation, and lets the learning rate of `plan` follow
  /// evaluations, where the options ask for it: from where the run that is
  /// resumed was. Throws usageError.
  Evaluator(const RunContext &context, const RunData &data,
            const RunStart &start, RunPlan &plan, Checkpointing &checkpointing);

  /// Whether the step can be evaluated and was not yet.
  bool isDue() const;
  /// Evaluates the weights of the step, or their average; nothing if a signal
  /// cut it short. All ranks call it, when no step is in flight.
  std::optional<Evaluation> evaluate();
  /// Logs an evaluation of the step, prints it, and lets the learning rate
  /// follow it.
  void report(const Evaluation &evaluation, TrainingLog &log);
  /// Whether the last evaluation was the best so far.
  bool isBestNow() const { return isBest; }
  /// Whether the weights of this step are the best that were found.
  bool isStepBest() const;
  /// Whether the run has seen no improvement for so long that it ends; says so.
  bool stopsEarly() const;
  /// Forgets the steps after an earlier one to which the run went back.
  void goBack() { evaluatedStep.reset(); }

  /// Nothing unless the run looks for its best evaluation.
  const RunSettings::Best *getBest() const {
    return best ? &best->get() : nullptr;
  }
  /// Sets the weights to those that results are made of, and says which.
  /// Returns false if they could not be read.
  bool chooseWeights();

private:
  void openBest(const RunStart &start);
  void openPlateau(const RunStart &start);
  /// Returns the best checkpoint of the folders of the run.
  std::string findBestCheckpoint() const;
  bool readBest();
  void describeLast() const;

  RunContext context;
  const RunData &data;
  RunPlan &plan;
  Checkpointing &checkpointing;
  std::optional<BestEvaluation> best;
  /// Its weights; nothing unless something is made of them.
  std::optional<BestWeights> bestWeights;
  std::optional<int64_t> evaluatedStep;
  bool isBest = false;
  /// Whether a loss that is not finite was explained.
  bool hasWarned = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_EVALUATE_EVALUATOR_H
