// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The assignment of samples to batches.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_SAMPLER_H
#define INGOT_RUNTIME_DATA_SAMPLER_H

#include <cstddef>
#include <cstdint>
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

  /// The number of full batches in an epoch; remaining samples are dropped.
  int64_t getBatchesPerEpoch() const {
    return static_cast<int64_t>(order.size());
  }
  int64_t getDroppedPerEpoch() const;
  int64_t getEpoch(int64_t step) const { return step / getBatchesPerEpoch(); }

  struct Batch {
    size_t group = 0;
    /// Indices within the group, valid until the next call.
    const std::vector<int64_t> &samples;
  };
  /// Returns the batch of a step, counted from 0 over all epochs.
  Batch getBatch(int64_t step);

private:
  void permute(int64_t epoch);
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
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_SAMPLER_H
