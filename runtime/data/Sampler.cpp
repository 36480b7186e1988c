// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The assignment of samples to batches.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Sampler.h"

#include "runtime/core/Random.h"

#include <numeric>
#include <utility>

using namespace ingot::runtime;

/// Distinguishes the sampler's random streams from other uses of the seed.
static constexpr uint64_t kStreamBase = uint64_t(1) << 63;
/// The number of streams of a group, or of the order of batches: one for each
/// epoch.
static constexpr uint64_t kStreamsPerGroup = uint64_t(1) << 48;

template <typename T>
static void shuffleAll(std::vector<T> &all, Philox random) {
  for (size_t i = all.size(); i-- > 1;)
    std::swap(all[i], all[random.below(i + 1)]);
}

Sampler::Sampler(std::vector<int64_t> groups, int64_t batch, bool shuffle,
                 uint64_t seed)
    : groups(std::move(groups)), batch(batch), shuffle(shuffle), seed(seed),
      permutations(this->groups.size()), chosen(batch) {
  orderBatches();
}

void Sampler::orderBatches() {
  order.clear();
  for (size_t group = 0; group < groups.size(); ++group)
    for (int64_t first = 0; first + batch <= groups[group]; first += batch)
      order.push_back({group, first});
}

int64_t Sampler::getDroppedPerEpoch() const {
  int64_t dropped = 0;
  for (int64_t samples : groups)
    dropped += samples % batch;
  return dropped;
}

void Sampler::permute(int64_t epoch) {
  uint64_t stream = kStreamBase + static_cast<uint64_t>(epoch);
  for (size_t group = 0; group < groups.size(); ++group) {
    permutations[group].resize(groups[group]);
    std::iota(permutations[group].begin(), permutations[group].end(),
              int64_t(0));
    shuffleAll(permutations[group], Philox(seed, stream));
    stream += kStreamsPerGroup;
  }
  // The batches of a single group are in random order already.
  orderBatches();
  if (groups.size() > 1)
    shuffleAll(order, Philox(seed, stream));
  permutedEpoch = epoch;
}

Sampler::Batch Sampler::getBatch(int64_t step) {
  if (shuffle && getEpoch(step) != permutedEpoch)
    permute(getEpoch(step));
  auto [group, first] = order[step % getBatchesPerEpoch()];
  if (shuffle)
    chosen.assign(permutations[group].begin() + first,
                  permutations[group].begin() + first + batch);
  else
    std::iota(chosen.begin(), chosen.end(), first);
  return {group, chosen};
}
