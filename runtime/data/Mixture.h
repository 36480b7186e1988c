// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples of several sources in given proportions.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_MIXTURE_H
#define INGOT_RUNTIME_DATA_MIXTURE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// The samples of an epoch hold each source in its proportion, exactly except
/// for rounding to whole samples, and an epoch is as long as it can be without
/// taking a source twice. What of a source is left over comes in the next
/// epochs, so that in the long run each of its samples is seen as often as any
/// other.
class Mixture {
public:
  /// `sizes` are the samples of each source, which follow each other in the
  /// data set; `weights` are above 0, and need not sum to 1.
  Mixture(std::vector<int64_t> sizes, std::vector<double> weights, bool shuffle,
          uint64_t seed);

  int64_t getEpochSamples() const { return epochSamples; }
  /// The samples of each source in an epoch.
  const std::vector<int64_t> &getCounts() const { return counts; }

  /// Returns the sample at a position of an epoch. Positions are ordered by
  /// source if the mixture is shuffled, as a permutation of them follows; else
  /// the sources take turns.
  int64_t getSample(int64_t epoch, int64_t position);

private:
  const std::vector<int64_t> &permute(size_t source, int64_t pass);

  std::vector<int64_t> sizes, starts, counts, firsts;
  int64_t epochSamples = 0;
  bool shuffle;
  uint64_t seed;
  /// The source of each position and the position among those of it, if the
  /// sources take turns.
  std::vector<std::pair<uint32_t, int64_t>> turns;
  struct Permutation {
    int64_t pass = -1;
    std::vector<int64_t> order;
  };
  /// The permutations of two passes of each source, which one epoch can touch.
  std::vector<std::array<Permutation, 2>> permutations;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_MIXTURE_H
