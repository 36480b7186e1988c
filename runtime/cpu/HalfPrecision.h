//===----------------------------------------------------------------------===//
//
// core/HalfPrecision.h on the thread pool.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_HALFPRECISION_H
#define INGOT_RUNTIME_CPU_HALFPRECISION_H

#include "runtime/abi/Abi.h"

namespace ingot::runtime {

void convertToF32(const void *from, int32_t type, float *to, int64_t count);

void convertFromF32(const float *from, void *to, int32_t type, int64_t count);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_HALFPRECISION_H
