// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The random number generator of `ingot.random_uniform`.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_REFERENCE_OPS_REFERENCEPHILOX_H
#define INGOT_DIALECTS_REFERENCE_OPS_REFERENCEPHILOX_H

#include <array>
#include <cstdint>

namespace ingot::reference {

/// Returns four random words of Philox-4x32-10 from a counter and a key.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

/// Returns the number of `random_uniform` at a row-major position, before
/// rounding to the element type.
double uniformAt(int64_t seed, int64_t step, uint32_t stream, int64_t position);

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_OPS_REFERENCEPHILOX_H
