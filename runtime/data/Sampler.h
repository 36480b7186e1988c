// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The assignment of samples to batches.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_SAMPLER_H
#define INGOT_RUNTIME_DATA_SAMPLER_H

#include "runtime/data/Mixture.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ingot::runtime {

/// The batches of training, each with samples of one group. A batch is a pure
/// function of the arguments and the step, so that resuming a run needs only
/// the number of steps taken.
class Sampler {
public:
  /// `groups` are the numbers of samples of each group, one of them >= `batch`
  /// > 0. Without `shuffle` the groups come one after another.
  Sampler(std::vector<int64_t> groups, int64_t batch, bool shuffle,
          uint64_t seed);
  /// Batches of one group with the samples of a mixture.
  Sampler(Mixture mixture, int64_t batch, bool shuffle, uint64_t seed);

  /// The place of a batch: its epoch, and how many samples of that come before
  /// it.
  struct Position {
    int64_t epoch = 0, sample = 0;
  };
  /// Lets the batch of `step` begin there, as a run with other batches left it.
  /// There has to be a single group.
  void startAt(int64_t step, Position position);
  Position getPosition(int64_t step) const;

  /// The number of full batches in an epoch; remaining samples are dropped.
  int64_t getBatchesPerEpoch() const {
    return static_cast<int64_t>(order.size());
  }
  int64_t getDroppedPerEpoch() const;
  int64_t getEpoch(int64_t step) const { return getPosition(step).epoch; }
  /// The steps after which so many epochs have ended.
  int64_t getSteps(int64_t epochs) const;

  struct Batch {
    size_t group = 0;
    int64_t epoch = 0;
    /// Indices within the group, valid until the next call.
    const std::vector<int64_t> &samples;
  };
  /// Returns the batch of a step, counted from 0 over all epochs.
  Batch getBatch(int64_t step);

private:
  void permute(int64_t epoch);
  /// The steps of the epoch that the first step is in.
  int64_t getFirstSteps() const;
  void orderBatches();

  struct BatchStart {
    size_t group;
    /// The index of the batch's first sample in the group's permutation.
    int64_t first;
  };
  std::vector<int64_t> groups;
  int64_t batch;
  bool shuffle;
  uint64_t seed;
  int64_t permutedEpoch = -1;
  std::vector<std::vector<int64_t>> permutations;
  /// The batches of an epoch.
  std::vector<BatchStart> order;
  std::vector<int64_t> chosen;
  std::optional<Mixture> mixture;
  int64_t firstStep = 0;
  Position start;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_SAMPLER_H
