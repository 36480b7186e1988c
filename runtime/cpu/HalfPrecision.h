//===----------------------------------------------------------------------===//
//
// bf16 and f16 on processors that do not compute in them: whole arrays to f32
// and back, on the thread pool.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_HALFPRECISION_H
#define INGOT_RUNTIME_CPU_HALFPRECISION_H

#include "runtime/abi/Abi.h"

namespace ingot::runtime {

/// Widens `count` elements of `type`, INGOT_BF16 or INGOT_F16. Exact.
void convertToF32(const void *from, int32_t type, float *to, int64_t count);

/// Rounds `count` elements to `type`, to nearest even; NaN stays NaN.
void convertFromF32(const float *from, void *to, int32_t type, int64_t count);

/// The same on the calling thread.
void roundFromF32(const float *from, void *to, int32_t type, int64_t count);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_HALFPRECISION_H
