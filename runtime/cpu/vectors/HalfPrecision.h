// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// bf16 and f16 on CPUs that do not compute in them: conversions of arrays to
// f32 and back, on the calling thread.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_VECTORS_VECTORS_HALFPRECISION_H
#define INGOT_RUNTIME_CPU_VECTORS_VECTORS_HALFPRECISION_H

#include <cstdint>

namespace ingot::runtime {

/// Widens `count` elements of `type`, INGOT_BF16 or INGOT_F16, which is exact.
void widenToF32(const void *from, int32_t type, float *to, int64_t count);

/// Rounds `count` elements to `type`, to nearest even; NaN stays NaN.
void roundFromF32(const float *from, void *to, int32_t type, int64_t count);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_VECTORS_VECTORS_HALFPRECISION_H
