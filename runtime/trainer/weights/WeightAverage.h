// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The exponential moving average of the weights, as torch's AveragedModel with
// get_ema_multi_avg_fn computes it: the first update copies, later ones move by
// 1 - decay. Other states of the model have their current values. Of weights in
// shards or parts, each rank has the average of the elements that it holds.
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
  /// Throws usageError if the session's weights are not in this host's memory.
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
  /// Adds the average to the tensors of a checkpoint, as NAME/ema: of weights
  /// that this rank holds as a whole, or of those in shards.
  void addTo(SafeTensors &state) const;
  void addShards(SafeTensors &shards) const;
  /// Reads it from there; without it, the average starts with the next update.
  /// Throws badInput.
  void restore(const CheckpointState &saved, const std::string &path);

private:
  /// A parameter, of which a rank holds some elements.
  struct Weight {
    const StateSpec *spec;
    ElementRange held;
    /// The average of the elements that are held.
    char *average = nullptr;

    Weight(const StateSpec &spec, ElementRange held)
        : spec(&spec), held(held) {}

    /// Returns the bytes that keep the next average aligned.
    int64_t getBytes() const;
    /// Returns the place of the average of an element that is held.
    char *find(int64_t element) const;
    /// Returns the average as a tensor of a file.
    TensorView view() const;
  };

  /// Calls `body` with the state, the first element, the number of elements and
  /// the average of each piece of the weights, on all threads.
  template <typename Body> void forEachPiece(Body body) const;

  Session &session;
  double decay;
  bool isStarted = false;
  Block block;
  std::vector<Weight> weights;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_WEIGHTAVERAGE_H
