// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Whether the integers of an input index what is there: classes, and rows of
// tables.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_INDEXCHECK_H
#define INGOT_RUNTIME_EMBED_INDEXCHECK_H

#include "runtime/core/Manifest.h"

#include <cstdint>

namespace ingot::runtime {

/// Throws badInput if one of `count` elements of an input, which begin with a
/// sample, is outside of what it indexes. Inputs that are no indices pass.
void checkIndices(const InputSpec &input, const char *data, int64_t count);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_EMBED_INDEXCHECK_H
