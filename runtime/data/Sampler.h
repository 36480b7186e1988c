// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which samples make up which batch.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_SAMPLER_H
#define INGOT_RUNTIME_DATA_SAMPLER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// The batches of training, each of samples of one group. A pure function of
/// its arguments and the step: resuming a run needs no more than the number of
/// steps taken.
class Sampler {
public:
  /// `groups` are the numbers of samples of each group, one of them >= `batch`
  /// > 0. Without `shuffle` the groups come one after another.
  Sampler(std::vector<int64_t> groups, int64_t batch, bool shuffle,
          uint64_t seed);

  /// Whole batches in an epoch; the samples left over are dropped.
  int64_t getBatchesPerEpoch() const {
    return static_cast<int64_t>(order.size());
  }
  int64_t getDroppedPerEpoch() const;
  int64_t getEpoch(int64_t step) const { return step / getBatchesPerEpoch(); }

  struct Batch {
    size_t group = 0;
    /// Within the group. Valid until the next call.
    const std::vector<int64_t> &samples;
  };
  /// The batch of the step, counted from 0 over all epochs.
  Batch getBatch(int64_t step);

private:
  void permute(int64_t epoch);
  void placeBatches();

  struct Place {
    size_t group;
    /// Of the batch's first sample, in the group's permutation.
    int64_t first;
  };
  std::vector<int64_t> groups;
  int64_t batch;
  bool shuffle;
  uint64_t seed;
  int64_t permutedEpoch = -1;
  std::vector<std::vector<int64_t>> permutations;
  /// The batches of an epoch.
  std::vector<Place> order;
  std::vector<int64_t> chosen;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_SAMPLER_H
