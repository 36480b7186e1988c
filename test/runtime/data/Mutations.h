// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Damage of the kinds that files meet: flipped bits, lost ends, bytes added,
// removed and repeated, and extreme numbers.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_DATA_MUTATIONS_H
#define INGOT_TEST_RUNTIME_DATA_MUTATIONS_H

#include "runtime/core/Random.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace ingot::runtime::test {

/// How many mutations a kind of file has to survive.
constexpr int kMutations = 200;

/// Changes a place or two of a file.
inline std::string mutate(std::string bytes, Philox &random) {
  for (auto changes = 1 + random.below(2); changes > 0 && !bytes.empty();
       --changes) {
    auto at = random.below(bytes.size());
    auto size = std::min<size_t>(1 + random.below(16), bytes.size() - at);
    constexpr uint64_t extremes[] = {
        0, 1, 0x7f, 0xff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX};
    switch (random.below(7)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(random.next());
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, size);
      break;
    case 4:
      bytes.insert(at, bytes.substr(random.below(bytes.size()), size));
      break;
    case 5: {
      uint64_t value = extremes[random.below(8)];
      // Numbers of headers are aligned more often than not.
      at &= ~uint64_t(3);
      std::memcpy(bytes.data() + at, &value,
                  std::min(sizeof(value), bytes.size() - at));
      break;
    }
    default:
      bytes.replace(at, size, bytes.substr(random.below(bytes.size()), size));
    }
  }
  return bytes;
}

} // namespace ingot::runtime::test

#endif // INGOT_TEST_RUNTIME_DATA_MUTATIONS_H
