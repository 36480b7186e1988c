// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --ema: takes the weights after each step into their average.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_AVERAGEHOOK_H
#define INGOT_RUNTIME_TRAINER_HOOKS_AVERAGEHOOK_H

#include "runtime/observe/MetricsLog.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/save/Checkpointing.h"

namespace ingot::runtime {

class AverageHook : public StepHook {
public:
  explicit AverageHook(Checkpointing &checkpointing)
      : checkpointing(checkpointing) {}

  void addResults(const StepResults &results) override {
    wasSkipped = results.metrics.skipped;
  }
  void endStep(int64_t, double) override {
    if (!wasSkipped)
      checkpointing.updateAverage();
  }

private:
  Checkpointing &checkpointing;
  bool wasSkipped = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_AVERAGEHOOK_H
