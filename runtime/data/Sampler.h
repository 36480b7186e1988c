//===----------------------------------------------------------------------===//
//
// Which samples make up which batch.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_SAMPLER_H
#define INGOT_RUNTIME_DATA_SAMPLER_H

#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// The batches of training. A pure function of its arguments and the step:
/// resuming a run needs no more than the number of steps taken.
class Sampler {
public:
  /// `samples` >= `batch` > 0.
  Sampler(int64_t samples, int64_t batch, bool shuffle, uint64_t seed);

  /// Whole batches in an epoch; the samples left over are dropped.
  int64_t getBatchesPerEpoch() const { return samples / batch; }
  int64_t getDroppedPerEpoch() const { return samples % batch; }
  int64_t getEpoch(int64_t step) const { return step / getBatchesPerEpoch(); }

  /// The samples of the step, counted from 0 over all epochs. Valid until the
  /// next call.
  const std::vector<int64_t> &getBatch(int64_t step);

private:
  void permute(int64_t epoch);

  int64_t samples, batch;
  bool shuffle;
  uint64_t seed;
  int64_t permutedEpoch = -1;
  std::vector<int64_t> permutation, chosen;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_SAMPLER_H
