// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The sums of collectives.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_SUMS_H
#define INGOT_RUNTIME_COMM_SUMS_H

#include "runtime/core/DType.h"

namespace ingot::runtime {

/// Computes sum += addend, element by element. 16-bit types are added in f32
/// and rounded. Throws std::runtime_error for types without sums.
void addElements(const char *addend, char *sum, int64_t count, DType type);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_SUMS_H
