// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --max-time: ends a run when a time has passed.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_TIMELIMITHOOK_H
#define INGOT_RUNTIME_TRAINER_HOOKS_TIMELIMITHOOK_H

#include "runtime/comm/Communicator.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/text/Quantities.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

#include <chrono>
#include <utility>

namespace ingot::runtime {

/// Counts from its construction. The clocks of ranks differ: they agree on the
/// end one step late, so that none waits for the others, and the first whose
/// time is over ends the run.
class TimeLimitHook : public StepHook {
public:
  TimeLimitHook(const RunContext &context, double seconds)
      : context(context), limit(seconds) {}
  TimeLimitHook(const TimeLimitHook &) = delete;
  TimeLimitHook &operator=(const TimeLimitHook &) = delete;

  void endStep(int64_t step, double) override {
    int32_t isOver = Clock::now() - start >= limit ? 1 : 0;
    if (context.ranks.getSize() > 1) {
      context.ranks.wait(std::exchange(exchange, 0));
      std::swap(isOver, sum);
      if (!isOver)
        exchange = context.ranks.startAllReduce(&sum, 1, DType::I32,
                                                "agreement on --max-time");
    }
    if (isOver && !isEnd)
      context.console.line("--max-time: " + describeMeasured(limit.count()) +
                           " have passed, ends after step " +
                           std::to_string(step));
    isEnd |= isOver != 0;
  }
  bool isDone() const override { return isEnd; }
  void finish() override { context.ranks.wait(std::exchange(exchange, 0)); }

private:
  using Clock = std::chrono::steady_clock;

  RunContext context;
  std::chrono::duration<double> limit;
  Clock::time_point start = Clock::now();
  /// How many ranks' time was over, once the exchange has ended.
  int32_t sum = 0;
  Communicator::Ticket exchange = 0;
  bool isEnd = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_TIMELIMITHOOK_H
