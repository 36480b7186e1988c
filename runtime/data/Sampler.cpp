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

Sampler::Sampler(std::vector<SampleGroup> groups, bool shuffle, uint64_t seed)
    : groups(std::move(groups)), shuffle(shuffle), seed(seed),
      permutations(this->groups.size()) {
  start.taken.resize(this->groups.size());
  for (const SampleGroup &group : this->groups)
    batchesPerEpoch += group.samples / group.batch;
}

Sampler::Sampler(Mixture mixture, int64_t batch, bool shuffle, uint64_t seed)
    : Sampler({{mixture.getEpochSamples(), batch}}, shuffle, seed) {
  this->mixture = std::move(mixture);
}

void Sampler::startAt(int64_t step, const Position &position) {
  if (position.taken.size() != groups.size())
    return;
  firstStep = step;
  start = position;
  for (size_t group = 0; group < groups.size(); ++group)
    start.taken[group] = std::min(start.taken[group], groups[group].samples);
  orderedEpoch = -1;
}

int64_t Sampler::countBatches(int64_t epoch) const {
  if (epoch != start.epoch)
    return batchesPerEpoch;
  int64_t batches = 0;
  for (size_t group = 0; group < groups.size(); ++group)
    batches +=
        std::max<int64_t>(groups[group].samples - start.taken[group], 0) /
        groups[group].batch;
  return batches;
}

int64_t Sampler::getSteps(int64_t epochs) const {
  int64_t steps = 0;
  if (epochs <= start.epoch ||
      __builtin_mul_overflow(epochs - start.epoch - 1, batchesPerEpoch,
                             &steps) ||
      __builtin_add_overflow(steps, firstStep + countBatches(start.epoch),
                             &steps))
    return epochs <= start.epoch ? firstStep : -1;
  return steps;
}

std::pair<int64_t, int64_t> Sampler::findPlace(int64_t step) const {
  int64_t number = step - firstStep, ofFirst = countBatches(start.epoch);
  if (number < ofFirst)
    return {start.epoch, number};
  number -= ofFirst;
  return {start.epoch + 1 + number / batchesPerEpoch, number % batchesPerEpoch};
}

Sampler::Position Sampler::getPosition(int64_t step) {
  auto [epoch, number] = findPlace(step);
  Position position{epoch, std::vector<int64_t>(groups.size())};
  for (size_t group = 0; group < groups.size(); ++group)
    position.taken[group] = getTaken(epoch, group);
  if (groups.size() == 1) {
    position.taken[0] += number * groups[0].batch;
    return position;
  }
  orderBatches(epoch);
  for (int64_t i = 0; i < number; ++i)
    position.taken[order[i].group] += groups[order[i].group].batch;
  return position;
}

int64_t Sampler::getDroppedPerEpoch() const {
  int64_t dropped = 0;
  for (const SampleGroup &group : groups)
    dropped += group.samples % group.batch;
  return dropped;
}

/// Orders the batches that the run takes of an epoch. With `shuffle`, the group
/// of each is drawn by the batches that are left of it, from a number that
/// follows from how many samples have been taken: all orders are equally
/// likely, and where a run resumes leaves no trace in the order.
void Sampler::orderBatches(int64_t epoch) {
  if (orderedEpoch == epoch)
    return;
  orderedEpoch = epoch;
  order.clear();
  uint64_t stream = kStreamBase + static_cast<uint64_t>(epoch) +
                    kStreamsPerGroup * groups.size();
  uint64_t key = Philox(seed, stream).next64();
  std::vector<int64_t> taken(groups.size()), left(groups.size());
  int64_t samples = 0, batches = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    taken[group] = getTaken(epoch, group);
    left[group] = std::max<int64_t>(groups[group].samples - taken[group], 0) /
                  groups[group].batch;
    samples += taken[group];
    batches += left[group];
  }
  for (; batches > 0; --batches) {
    int64_t drawn = 0;
    if (shuffle)
      drawn = static_cast<int64_t>(Philox(key, static_cast<uint64_t>(samples))
                                       .below(static_cast<uint64_t>(batches)));
    size_t group = 0;
    while (drawn >= left[group])
      drawn -= left[group++];
    order.push_back({group, taken[group]});
    --left[group];
    taken[group] += groups[group].batch;
    samples += groups[group].batch;
  }
}

void Sampler::permute(int64_t epoch) {
  uint64_t stream = kStreamBase + static_cast<uint64_t>(epoch);
  for (size_t group = 0; group < groups.size(); ++group) {
    permutations[group].resize(groups[group].samples);
    std::iota(permutations[group].begin(), permutations[group].end(),
              int64_t(0));
    shuffleAll(permutations[group], Philox(seed, stream));
    stream += kStreamsPerGroup;
  }
  permutedEpoch = epoch;
}

Sampler::Batch Sampler::getBatch(int64_t step) {
  auto [epoch, number] = findPlace(step);
  if (shuffle && epoch != permutedEpoch)
    permute(epoch);
  BatchStart from{0, 0};
  if (groups.size() == 1) {
    // The batches of a single group are in random order already.
    from.first = getTaken(epoch, 0) + number * groups[0].batch;
  } else {
    orderBatches(epoch);
    from = order[static_cast<size_t>(number)];
  }
  auto [group, first] = from;
  int64_t batch = groups[group].batch;
  chosen.resize(static_cast<size_t>(batch));
  if (shuffle)
    chosen.assign(permutations[group].begin() + first,
                  permutations[group].begin() + first + batch);
  else
    std::iota(chosen.begin(), chosen.end(), first);
  if (mixture)
    for (int64_t &sample : chosen)
      sample = mixture->getSample(epoch, sample);
  return {group, epoch, chosen};
}
