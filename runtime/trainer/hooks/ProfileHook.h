// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --profile: records some steps of a run, and writes them as a trace.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_PROFILEHOOK_H
#define INGOT_RUNTIME_TRAINER_HOOKS_PROFILEHOOK_H

#include "runtime/observe/profile/Profile.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

namespace ingot::runtime {

class RunPlan;

class ProfileHook : public StepHook {
public:
  ProfileHook(const RunContext &context, const RunPlan &plan);

  bool needsEachStep() const override { return true; }
  void startStep(int64_t) override { profiler.startStep(); }
  void addWait(const TimeSpan &wait) override { profiler.addData(wait); }
  void endStep(int64_t number, double) override { profiler.endStep(number); }
  void finish() override { profiler.finish(); }
  /// Writes the trace, and prints a table of it.
  void report(const Print &print) override;

private:
  RunContext context;
  Profiler profiler;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_PROFILEHOOK_H
