// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The assignment of samples to batches.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Sampler.h"

#include "runtime/core/Random.h"

#include <algorithm>
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

Sampler::Sampler(Mixture mixture, int64_t batch, bool shuffle, uint64_t seed)
    : Sampler({mixture.getEpochSamples()}, batch, shuffle, seed) {
  this->mixture = std::move(mixture);
}

void Sampler::startAt(int64_t step, Position position) {
  firstStep = step;
  start = position;
}

int64_t Sampler::getFirstSteps() const {
  if (start.sample == 0)
    return getBatchesPerEpoch();
  return std::max<int64_t>(groups.front() - start.sample, 0) / batch;
}

int64_t Sampler::getSteps(int64_t epochs) const {
  int64_t steps = 0;
  if (epochs <= start.epoch ||
      __builtin_mul_overflow(epochs - start.epoch - 1, getBatchesPerEpoch(),
                             &steps) ||
      __builtin_add_overflow(steps, firstStep + getFirstSteps(), &steps))
    return epochs <= start.epoch ? firstStep : -1;
  return steps;
}

Sampler::Position Sampler::getPosition(int64_t step) const {
  int64_t taken = step - firstStep, ofFirst = getFirstSteps();
  if (taken < ofFirst)
    return {start.epoch, start.sample + taken * batch};
  taken -= ofFirst;
  return {start.epoch + 1 + taken / getBatchesPerEpoch(),
          taken % getBatchesPerEpoch() * batch};
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
  Position position = getPosition(step);
  if (shuffle && position.epoch != permutedEpoch)
    permute(position.epoch);
  BatchStart from{0, position.sample};
  if (groups.size() > 1)
    from = order[static_cast<size_t>(position.sample / batch)];
  auto [group, first] = from;
  if (shuffle)
    chosen.assign(permutations[group].begin() + first,
                  permutations[group].begin() + first + batch);
  else
    std::iota(chosen.begin(), chosen.end(), first);
  if (mixture)
    for (int64_t &sample : chosen)
      sample = mixture->getSample(position.epoch, sample);
  return {group, position.epoch, chosen};
}
