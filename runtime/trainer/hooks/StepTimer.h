// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --tune=measure:SECONDS: takes the time of some steps of a run, for --tune of
// trainers and of ingotc, which run trainers with several settings.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_STEPTIMER_H
#define INGOT_RUNTIME_TRAINER_HOOKS_STEPTIMER_H

#include "runtime/trainer/hooks/StepHook.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// The measured times of some steps.
struct StepTimes {
  int64_t steps = 0;
  /// The median of the steps, and the part of it that they waited for data.
  double stepMs = 0, dataMs = 0;
  /// The checksum of the first losses, which tells whether two runs compute
  /// the same.
  uint32_t losses = 0;
};

class StepTimer : public StepHook {
public:
  explicit StepTimer(double seconds) : seconds(seconds) {}

  /// More steps than are ever measured.
  static constexpr int64_t kMost = 1'000'000;

  void addResults(const StepResults &results) override;
  void endStep(int64_t number, double rate) override;
  bool isDone() const override;
  /// Prints the times as formatStepTimes does.
  void report(const Print &print) override;

  StepTimes get() const;

private:
  double seconds;
  int64_t steps = 0;
  std::chrono::steady_clock::time_point last, begin;
  std::vector<double> times, waits;
  std::string losses;
};

/// The times as a line of JSON, and read from one; nothing if it is none.
std::string formatStepTimes(const StepTimes &times);
std::optional<StepTimes> parseStepTimes(const std::string &text);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_STEPTIMER_H
