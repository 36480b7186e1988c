// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --check-memory: checks the plan of the arena while steps run.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_MEMORYHOOK_H
#define INGOT_RUNTIME_TRAINER_HOOKS_MEMORYHOOK_H

#include "runtime/core/Device.h"
#include "runtime/core/Error.h"
#include "runtime/observe/MemoryCheck.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

namespace ingot::runtime {

class MemoryHook : public StepHook {
public:
  /// Throws usageError if the arena is not in the host's memory.
  explicit MemoryHook(const RunContext &context)
      : check(context.getManifest(), context.session.getDevice().getArena()) {
    DeviceTraits traits = context.session.getDevice().getTraits();
    if (!traits.sharesHostMemory || !traits.runsInCalls)
      throw usageError("--check-memory", "is for trainers on CPUs only",
                       "compile with --target cpu to check the plan");
  }

  ingot_observer *getObserver(int64_t) override { return &check; }
  void startFunction(const FunctionSpec &function) override {
    check.start(function);
  }
  void checkStep() override {
    if (check.getProblem())
      throw failure("--check-memory", *check.getProblem(),
                    "this is a defect of the compiler or of that kernel: "
                    "report it with the model");
  }

private:
  MemoryCheck check;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_MEMORYHOOK_H
