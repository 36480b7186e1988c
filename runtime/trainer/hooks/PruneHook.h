// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Trainers compiled with --prune: prunes what is due before the first step and
// after each one.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_PRUNEHOOK_H
#define INGOT_RUNTIME_TRAINER_HOOKS_PRUNEHOOK_H

#include "runtime/core/console/Console.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/pruning/Pruner.h"
#include "runtime/trainer/run/RunContext.h"
#include "runtime/trainer/save/Checkpointing.h"

#include <fmt/format.h>
#include <memory>
#include <utility>

namespace ingot::runtime {

class PruneHook : public StepHook {
public:
  PruneHook(std::unique_ptr<Pruner> pruner, const RunContext &context,
            Checkpointing &checkpointing, int64_t step)
      : pruner(std::move(pruner)), context(context),
        checkpointing(checkpointing), step(step) {
    checkpointing.pruneWeights(*this->pruner, step);
  }

  void startStep(int64_t number) override { step = number; }
  void checkStep() override {
    if (pruner->isDue(step))
      checkpointing.pruneWeights(*pruner, step);
  }
  void addMetrics(StepMetrics &metrics) override {
    metrics.pruned = pruner->count().getShare();
  }
  void finish() override {
    PrunedElements now = pruner->count();
    context.console.line(fmt::format(
        "pruned: {} of {} elements of {} {} ({:.2f} %)", now.pruned,
        now.elements, now.weights, now.weights == 1 ? "weight" : "weights",
        now.getShare() * 100));
  }

private:
  std::unique_ptr<Pruner> pruner;
  RunContext context;
  Checkpointing &checkpointing;
  int64_t step;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_PRUNEHOOK_H
