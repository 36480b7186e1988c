// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How collectives combine the elements of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_REDUCTIONS_H
#define INGOT_RUNTIME_COMM_REDUCTIONS_H

#include "runtime/comm/Collectives.h"

namespace ingot::runtime {

/// Computes to = to combined with from, element by element. 16-bit types are
/// added in f32 and rounded. The largest or smallest of numbers one of which is
/// NaN is NaN. Throws std::runtime_error for types that do not combine.
void combineElements(const char *from, char *to, int64_t count, DType type,
                     Reduction reduction);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_REDUCTIONS_H
