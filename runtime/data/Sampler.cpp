//===----------------------------------------------------------------------===//
//
// Which samples make up which batch.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Sampler.h"

#include "runtime/core/Random.h"

#include <numeric>
#include <utility>

using namespace ingot::runtime;

/// Tells the sampler's random streams from those of other uses of the seed.
static constexpr uint64_t streamBase = uint64_t(1) << 63;

Sampler::Sampler(int64_t samples, int64_t batch, bool shuffle, uint64_t seed)
    : samples(samples), batch(batch), shuffle(shuffle), seed(seed),
      chosen(batch) {}

void Sampler::permute(int64_t epoch) {
  permutation.resize(samples);
  std::iota(permutation.begin(), permutation.end(), int64_t(0));
  Philox random(seed, streamBase + static_cast<uint64_t>(epoch));
  for (int64_t i = samples - 1; i > 0; --i)
    std::swap(permutation[i],
              permutation[random.below(static_cast<uint64_t>(i) + 1)]);
  permutedEpoch = epoch;
}

const std::vector<int64_t> &Sampler::getBatch(int64_t step) {
  int64_t first = step % getBatchesPerEpoch() * batch;
  if (!shuffle) {
    std::iota(chosen.begin(), chosen.end(), first);
    return chosen;
  }
  if (getEpoch(step) != permutedEpoch)
    permute(getEpoch(step));
  chosen.assign(permutation.begin() + first,
                permutation.begin() + first + batch);
  return chosen;
}
