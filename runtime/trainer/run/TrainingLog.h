// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The log of a run, with the TensorBoard files that follow it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_RUN_TRAININGLOG_H
#define INGOT_RUNTIME_TRAINER_RUN_TRAININGLOG_H

#include "runtime/data/readers/ClassNames.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/trainer/run/RunContext.h"

#include <memory>
#include <optional>

namespace ingot::runtime {

class TensorBoard;

class TrainingLog {
public:
  /// Opens the files of --log and --tensorboard, which a resumed run continues.
  /// Throws failure.
  TrainingLog(const RunContext &context, int64_t step,
              const ClassNames &classes);
  ~TrainingLog();

  /// Passes what is logged on.
  template <typename Metrics> void write(const Metrics &metrics) {
    log->write(metrics);
  }
  /// Removes the lines of the steps after `step`, which are taken again.
  void cutAfter(int64_t step) { log->cutAfter(step); }
  /// Warns if the files begin to have gaps.
  void check();
  /// Adds the gaps that are left to the outcome of the run.
  void finish();

  MetricsLog &getMetrics() { return *log; }
  /// Null without --tensorboard.
  TensorBoard *getBoard() { return board.get(); }

private:
  Outcome &outcome;
  /// It outlives the log, which it follows.
  std::unique_ptr<TensorBoard> board;
  std::unique_ptr<MetricsLog> log;
  bool hasGap = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_RUN_TRAININGLOG_H
