// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Chooses the smallest of many numbers, exactly and in the memory of a
// histogram.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_PRUNING_SELECTION_H
#define INGOT_RUNTIME_TRAINER_PRUNING_SELECTION_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace ingot::runtime {

/// Returns a number that orders magnitudes; that of NaN is above all, and 0 is
/// that of none.
inline uint64_t getMagnitudeKey(double value) {
  return (std::bit_cast<uint64_t>(value) & ~(uint64_t(1) << 63)) + 1;
}

/// The smallest of a list of keys, of equal ones the first: those below a key,
/// and some that are equal to it.
struct Smallest {
  uint64_t key = 0;
  int64_t equal = 0;

  /// Whether the next key of the list is chosen. Called for all in order.
  bool take(uint64_t next) {
    return next < key || (next == key && equal-- > 0);
  }
};

/// Finds the `count` smallest keys. `forEach` calls a function with each key.
template <typename ForEach>
Smallest findSmallest(int64_t count, ForEach forEach) {
  constexpr int digit = 11, bits = 64;
  Smallest found{0, count};
  uint64_t known = 0;
  // From the highest digit on: so begins the key that is the last chosen.
  for (int end = bits; end > 0 && count > 0;) {
    int begin = std::max(end - digit, 0);
    std::array<int64_t, 1 << digit> counts = {};
    uint64_t mask = (uint64_t(1) << (end - begin)) - 1;
    forEach([&](uint64_t key) {
      if ((key & known) == found.key)
        ++counts[(key >> begin) & mask];
    });
    uint64_t bucket = 0;
    while (found.equal > counts[bucket])
      found.equal -= counts[bucket++];
    found.key |= bucket << begin;
    known |= mask << begin;
    end = begin;
    // All keys that begin so are chosen.
    if (counts[bucket] == found.equal) {
      found.key |= ~known;
      break;
    }
  }
  return found;
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_PRUNING_SELECTION_H
