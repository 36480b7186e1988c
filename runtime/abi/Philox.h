// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The constants of Philox-4x32-10 (docs/spec/random.md; Salmon et al.,
// "Parallel Random Numbers: As Easy as 1, 2, 3"). There are no inline functions
// here, because files that are compiled for one instruction set include this.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_PHILOX_H
#define INGOT_RUNTIME_ABI_PHILOX_H

#include <cstdint>

namespace ingot::abi::philox {

inline constexpr int kRounds = 10;
/// Each round multiplies counters by these multipliers, and adds these steps to
/// the keys.
inline constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
inline constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};

} // namespace ingot::abi::philox

#endif // INGOT_RUNTIME_ABI_PHILOX_H
