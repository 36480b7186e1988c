// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --tune of runs with several ranks: the first steps of the run send their
// buckets of gradients joined to larger ones, in turns with those as they were
// compiled. What is fastest on all ranks together is kept for this machine and
// model, and used in the steps that follow.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_BUCKETTUNER_H
#define INGOT_RUNTIME_TRAINER_HOOKS_BUCKETTUNER_H

#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime {

class BucketTuner : public StepHook {
public:
  explicit BucketTuner(const RunContext &context);

  void endStep(int64_t number, double rate) override;
  /// Says so if the run was too short for a choice.
  void finish() override;

private:
  enum class Stage { Warmup, Measuring, Done };
  /// Lists what to try, or takes what an earlier run has kept.
  void begin();
  void choose();
  bool takeKept();
  std::string getKey() const;
  void say(int64_t joining, double milliseconds);

  Communicator &ranks;
  Console &console;
  const TuneOptions &options;
  /// Names the model for what is kept.
  std::string model;
  Stage stage = Stage::Warmup;
  int64_t steps = 0;
  /// The buckets of a step, and their bytes.
  int64_t buckets = 0, bytes = 0;
  std::pair<int64_t, int64_t> counted;
  std::chrono::steady_clock::time_point last;
  std::vector<int64_t> candidates;
  /// The times of the steps of each candidate, in milliseconds.
  std::vector<std::vector<double>> times;
  /// The steps of a candidate's turn, of which the first does not count.
  int64_t stepsOfTurn = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_BUCKETTUNER_H
