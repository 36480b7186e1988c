//===----------------------------------------------------------------------===//
//
// The random number generator behind `ingot.random_uniform`.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_REFERENCE_OPS_PHILOX_H
#define INGOT_DIALECTS_REFERENCE_OPS_PHILOX_H

#include <array>
#include <cstdint>

namespace ingot::reference {

/// Philox-4x32-10: four random words from a counter and a key.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_OPS_PHILOX_H
