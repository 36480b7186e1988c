// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The exponential moving average of the weights, as torch's AveragedModel with
// get_ema_multi_avg_fn computes it: the first update copies, later ones move by
// 1 - decay. Other states of the model have their current values.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTAVERAGE_H
#define INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTAVERAGE_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/core/Memory.h"
#include "runtime/trainer/session/Session.h"

#include <string>
#include <vector>

namespace ingot::runtime {

class WeightAverage {
public:
  /// Throws usageError if the session's weights are not in this host's memory
  /// as a whole.
  WeightAverage(Session &session, double decay);

  void setDecay(double value) { decay = value; }
  /// Whether a checkpoint has an average.
  static bool isIn(const CheckpointState &saved, const Manifest &manifest);

  /// Takes the weights after an update into the average.
  void update();
  /// Exchanges the weights and their average; twice is the weights again, with
  /// the same bits. Does nothing before the first update.
  void exchange();

  /// Returns the bytes that the average has in a checkpoint, at most.
  int64_t getBytes() const { return static_cast<int64_t>(block.getSize()); }
  /// Adds the average to the tensors of a checkpoint, as NAME/ema.
  void addTo(SafeTensors &state) const;
  /// Reads it from there; without it, the average starts with the next update.
  /// Throws badInput.
  void restore(const CheckpointState &saved, const std::string &path);

private:
  struct Weight {
    const StateSpec *spec;
    char *average;
  };

  Session &session;
  double decay;
  bool isStarted = false;
  Block block;
  std::vector<Weight> weights;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTAVERAGE_H
