// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Writes the log of a run for TensorBoard.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_TENSORBOARD_TENSORBOARD_H
#define INGOT_RUNTIME_OBSERVE_TENSORBOARD_TENSORBOARD_H

#include "runtime/observe/MetricsLog.h"
#include "runtime/observe/tensorboard/EventFile.h"

#include <string>

namespace ingot::runtime {

class TensorBoard : public LogFollower {
public:
  /// Writes into `folder`. A run that was resumed starts after `step`: what the
  /// folder has of later steps is forgotten. Throws failure.
  TensorBoard(const std::string &folder, int64_t step);

  void write(const StepMetrics &metrics) override;
  void write(const EvalMetrics &metrics) override;
  void cutAfter(int64_t step) override { events.restartAt(step + 1); }
  /// Writes other values of a step.
  void write(int64_t step, const Summary &summary) {
    events.write(step, summary);
  }

  const std::optional<Error> &getProblem() const { return events.getProblem(); }

private:
  EventFile events;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_TENSORBOARD_TENSORBOARD_H
