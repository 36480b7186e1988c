// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --watch: looks at what each kernel writes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_WATCHHOOK_H
#define INGOT_RUNTIME_TRAINER_HOOKS_WATCHHOOK_H

#include "runtime/core/console/Console.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/observe/Watch.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

namespace ingot::runtime {

class WatchHook : public StepHook {
public:
  explicit WatchHook(const RunContext &context)
      : console(context.console),
        keepsStatistics(context.options.observe.watch == WatchKind::Stats),
        watch(
            context.getManifest(),
            [&session = context.session](const KernelOutput &output) {
              return session.read(output);
            },
            keepsStatistics) {}

  bool needsEachStep() const override { return true; }
  const Watch *getWatch() const override { return &watch; }
  void startStep(int64_t) override { watch.startStep(!wasSkipped); }
  ingot_observer *getObserver(int64_t) override { return &watch; }
  void addResults(const StepResults &results) override {
    wasSkipped = results.metrics.skipped;
  }
  void finish() override {
    if (keepsStatistics)
      console.line(watch.makeTable());
  }

private:
  Console &console;
  bool keepsStatistics, wasSkipped = false;
  Watch watch;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_WATCHHOOK_H
