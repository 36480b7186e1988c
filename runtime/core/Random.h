// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Counter-based random numbers (Philox 4x32-10): the same bits on every
// machine and with every standard library, which <random> does not promise.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_RANDOM_H
#define INGOT_RUNTIME_CORE_RANDOM_H

#include "runtime/abi/Philox.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace ingot::runtime {

/// A stream of random numbers named by (seed, stream): streams are independent
/// and each can be opened again from its start.
class Philox {
public:
  Philox(uint64_t seed, uint64_t stream)
      : key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        counter{0, 0, static_cast<uint32_t>(stream),
                static_cast<uint32_t>(stream >> 32)} {}

  uint32_t next() {
    if (used == block.size())
      refill();
    return block[used++];
  }

  uint64_t next64() {
    uint64_t high = next();
    return high << 32 | next();
  }

  /// A uniform integer in [0, bound), without bias; `bound` > 0.
  uint64_t below(uint64_t bound) {
    uint64_t rejected = -bound % bound;
    for (;;) {
      unsigned __int128 wide = static_cast<unsigned __int128>(next64()) * bound;
      if (static_cast<uint64_t>(wide) >= rejected)
        return static_cast<uint64_t>(wide >> 64);
    }
  }

  /// Goes on with a block of the stream, which is four numbers of 32 bits.
  void seek(uint64_t block) {
    counter[0] = static_cast<uint32_t>(block);
    counter[1] = static_cast<uint32_t>(block >> 32);
    used = this->block.size();
  }

  /// A standard normal number (Box-Muller; the second value of a pair is
  /// dropped to keep the stream free of state). Takes one block.
  double normal() {
    double u = (static_cast<double>(next64() >> 11) + 1) * 0x1p-53;
    double v = static_cast<double>(next64() >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

private:
  void refill() {
    using namespace abi::philox;
    std::array<uint32_t, 4> c = counter;
    std::array<uint32_t, 2> k = key;
    for (int round = 0; round < kRounds; ++round) {
      uint64_t p0 = uint64_t(kMultipliers[0]) * c[0];
      uint64_t p1 = uint64_t(kMultipliers[1]) * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0],
           static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1],
           static_cast<uint32_t>(p0)};
      k[0] += kKeySteps[0];
      k[1] += kKeySteps[1];
    }
    block = c;
    used = 0;
    if (++counter[0] == 0)
      ++counter[1];
  }

  std::array<uint32_t, 2> key;
  std::array<uint32_t, 4> counter;
  std::array<uint32_t, 4> block{};
  size_t used = 4;
};

/// A stable hash of a name (FNV-1a), which gives each parameter its own stream.
inline uint64_t hashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_RANDOM_H
