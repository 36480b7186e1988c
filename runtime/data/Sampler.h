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
#include <utility>
#include <vector>

namespace ingot::runtime {

/// Samples that can share a batch, and how many of them a step takes.
struct SampleGroup {
  int64_t samples = 0, batch = 1;
};

/// The batches of training, each with samples of one group. A batch is a pure
/// function of the arguments and the step, so that resuming a run needs only
/// the number of steps taken; with other batches than before, also the position
/// that these left it at.
class Sampler {
public:
  /// One of the groups has a batch. Without `shuffle` the groups come one after
  /// another.
  Sampler(std::vector<SampleGroup> groups, bool shuffle, uint64_t seed);
  /// Batches of one group with the samples of a mixture.
  Sampler(Mixture mixture, int64_t batch, bool shuffle, uint64_t seed);

  /// The place of a batch: its epoch, and how many samples of each group come
  /// before it in that.
  struct Position {
    int64_t epoch = 0;
    std::vector<int64_t> taken;
  };
  /// Lets the batch of `step` begin there, as a run with other batches left it.
  /// Its next samples are those of each group that come next, whatever the
  /// sizes of batches. A position of other groups is none.
  void startAt(int64_t step, const Position &position);
  Position getPosition(int64_t step);

  /// The number of full batches in an epoch; remaining samples are dropped.
  int64_t getBatchesPerEpoch() const { return batchesPerEpoch; }
  int64_t getDroppedPerEpoch() const;
  int64_t getEpoch(int64_t step) const { return findPlace(step).first; }
  /// Returns the steps of the first `epochs` epochs.
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
  /// The epoch of a step, and the number of its batch in what the run takes of
  /// that.
  std::pair<int64_t, int64_t> findPlace(int64_t step) const;
  /// The samples of a group that come before the run in an epoch.
  int64_t getTaken(int64_t epoch, size_t group) const {
    return epoch == start.epoch ? start.taken[group] : 0;
  }
  int64_t countBatches(int64_t epoch) const;
  void permute(int64_t epoch);
  void orderBatches(int64_t epoch);

  struct BatchStart {
    size_t group;
    /// The index of the batch's first sample in the group's permutation.
    int64_t first;
  };
  std::vector<SampleGroup> groups;
  bool shuffle;
  uint64_t seed;
  int64_t batchesPerEpoch = 0;
  int64_t permutedEpoch = -1, orderedEpoch = -1;
  std::vector<std::vector<int64_t>> permutations;
  /// The batches of an epoch, where there are several groups.
  std::vector<BatchStart> order;
  std::vector<int64_t> chosen;
  std::optional<Mixture> mixture;
  int64_t firstStep = 0;
  Position start;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_SAMPLER_H
