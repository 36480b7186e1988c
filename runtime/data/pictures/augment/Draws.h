// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The random numbers of a sample.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_PICTURES_AUGMENT_DRAWS_H
#define INGOT_RUNTIME_DATA_PICTURES_AUGMENT_DRAWS_H

#include "runtime/core/Random.h"

#include <cstdint>

namespace ingot::runtime {

/// The sample for which the random parts of a recipe draw: they depend on
/// nothing else, neither the worker nor the batch nor the rank.
struct SampleContext {
  uint64_t seed = 0;
  int64_t epoch = 0, sample = 0;
  /// Whether there are random parts: crops are centered otherwise, and nothing
  /// is flipped.
  bool isTraining = false;
};

class Draws {
public:
  /// The numbers of geometry, which inputs with the same steps have in common,
  /// or those of all else.
  enum class Use : uint64_t {
    Geometry = 0,
    Pixels = uint64_t(1) << 32,
    Noise = uint64_t(2) << 32
  };

  Draws(const SampleContext &context, Use use)
      : random(context.seed,
               kStreamBase |
                   (static_cast<uint64_t>(context.epoch) << kSampleBits &
                    (kStreamBase - 1)) |
                   static_cast<uint64_t>(context.sample)) {
    random.seek(static_cast<uint64_t>(use));
  }

  int64_t below(int64_t bound) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
  }
  double uniform(double low, double high) {
    return low + (high - low) *
                     (static_cast<double>(random.next64() >> 11) * 0x1p-53);
  }
  /// Whether something of this probability happens.
  bool happens(double probability) {
    return probability == 0.5 ? random.next() >> 31 != 0
                              : uniform(0, 1) < probability;
  }
  double normal() { return random.normal(); }

private:
  /// Distinguishes the streams of samples from other uses of the seed.
  static constexpr uint64_t kStreamBase = uint64_t(1) << 62;
  static constexpr int kSampleBits = 40;

  Philox random;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_PICTURES_AUGMENT_DRAWS_H
