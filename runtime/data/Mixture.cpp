// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/Mixture.h"

#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace ingot::runtime;

/// Distinguishes these random streams from the sampler's.
static constexpr uint64_t kStreamBase = uint64_t(3) << 62;
static constexpr uint64_t kStreamsPerSource = uint64_t(1) << 40;

/// Divides `total` by weights, exactly: the largest remainders are rounded up.
static std::vector<int64_t> divide(int64_t total,
                                   const std::vector<double> &shares) {
  std::vector<int64_t> counts;
  std::vector<std::pair<double, size_t>> remainders;
  int64_t left = total;
  for (size_t i = 0; i < shares.size(); ++i) {
    double exact = shares[i] * static_cast<double>(total);
    counts.push_back(static_cast<int64_t>(exact));
    remainders.emplace_back(static_cast<double>(counts.back()) - exact, i);
    left -= counts.back();
  }
  std::sort(remainders.begin(), remainders.end());
  for (int64_t i = 0; i < left; ++i)
    ++counts[remainders[static_cast<size_t>(i) % remainders.size()].second];
  return counts;
}

Mixture::Mixture(std::vector<int64_t> sizes, std::vector<double> weights,
                 bool shuffle, uint64_t seed)
    : sizes(std::move(sizes)), shuffle(shuffle), seed(seed),
      permutations(this->sizes.size()) {
  // The sum of the largest numbers would be infinite.
  double largest = *std::max_element(weights.begin(), weights.end());
  for (double &weight : weights)
    weight /= largest;
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double longest = INFINITY;
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] /= sum;
    longest =
        std::min(longest, static_cast<double>(this->sizes[i]) / weights[i]);
  }
  // Weights such as 0.7 are not exact, and must not cost a sample.
  epochSamples = static_cast<int64_t>(longest * (1 + 1e-12));
  counts = divide(epochSamples, weights);
  int64_t start = 0, first = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = std::min(counts[i], this->sizes[i]);
    starts.push_back(start);
    firsts.push_back(first);
    start += this->sizes[i];
    first += counts[i];
  }
  epochSamples = first;
  if (shuffle)
    return;
  std::vector<int64_t> taken(counts.size());
  for (int64_t position = 0; position < epochSamples; ++position) {
    // The source that is furthest behind its share.
    size_t next = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < counts.size(); ++i) {
      double behind = static_cast<double>(counts[i]) *
                          static_cast<double>(position + 1) /
                          static_cast<double>(epochSamples) -
                      static_cast<double>(taken[i]);
      if (taken[i] < counts[i] && behind > most) {
        most = behind;
        next = i;
      }
    }
    turns.emplace_back(static_cast<uint32_t>(next), taken[next]++);
  }
}

const std::vector<int64_t> &Mixture::permute(size_t source, int64_t pass) {
  Permutation &kept = permutations[source][static_cast<size_t>(pass % 2)];
  if (kept.pass == pass)
    return kept.order;
  kept.order.resize(static_cast<size_t>(sizes[source]));
  std::iota(kept.order.begin(), kept.order.end(), int64_t(0));
  Philox random(seed, kStreamBase + source * kStreamsPerSource +
                          static_cast<uint64_t>(pass));
  for (size_t i = kept.order.size(); i-- > 1;)
    std::swap(kept.order[i], kept.order[random.below(i + 1)]);
  kept.pass = pass;
  return kept.order;
}

int64_t Mixture::getSample(int64_t epoch, int64_t position) {
  size_t source = 0;
  int64_t own = 0;
  if (shuffle) {
    source = static_cast<size_t>(
        std::upper_bound(firsts.begin(), firsts.end(), position) -
        firsts.begin() - 1);
    // Sources without samples in an epoch begin where the next one does.
    own = position - firsts[source];
  } else {
    source = turns[static_cast<size_t>(position)].first;
    own = turns[static_cast<size_t>(position)].second;
  }
  // An epoch takes no source twice, so that passes are no more than epochs.
  __int128 at = static_cast<__int128>(epoch) * counts[source] + own;
  auto pass = static_cast<int64_t>(at / sizes[source]);
  auto within = static_cast<int64_t>(at % sizes[source]);
  if (shuffle)
    within = permute(source, pass)[static_cast<size_t>(within)];
  return starts[source] + within;
}
