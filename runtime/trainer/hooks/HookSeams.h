// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The parts of a run that hooks may use.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_HOOKSEAMS_H
#define INGOT_RUNTIME_TRAINER_HOOKS_HOOKSEAMS_H

#include <cstdint>
#include <functional>

namespace ingot::runtime {

class Checkpointing;
class RunPlan;
class TensorBoard;

/// The parts of a run that hooks may use in addition to its context.
struct HookSeams {
  const RunPlan &plan;
  Checkpointing &checkpointing;
  /// Null without --tensorboard.
  TensorBoard *board;
  /// Makes batches from now on in that many threads.
  std::function<void(int64_t)> setWorkers;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_HOOKSEAMS_H
