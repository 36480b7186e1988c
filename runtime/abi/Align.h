// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Rounding of sizes and counts, by the names that LLVM gives the same
// functions.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_ALIGN_H
#define INGOT_RUNTIME_ABI_ALIGN_H

#include <cstdint>

namespace ingot::abi {

/// The quotient of two non-negative numbers, rounded up.
constexpr int64_t divideCeil(int64_t numerator, int64_t denominator) {
  return (numerator + denominator - 1) / denominator;
}

/// The least multiple of `multiple` that is not less than `value`.
constexpr int64_t alignTo(int64_t value, int64_t multiple) {
  return divideCeil(value, multiple) * multiple;
}

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_ALIGN_H
