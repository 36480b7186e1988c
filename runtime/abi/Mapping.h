// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The place of the states that are mapped from the file of weights: behind the
// block of states, in one range of addresses, for which the file has its bytes
// in one piece.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_MAPPING_H
#define INGOT_RUNTIME_ABI_MAPPING_H

#include "runtime/abi/Align.h"

namespace ingot::abi {

/// The largest page of the systems that trainers run on.
constexpr int64_t kMappedAlignment = int64_t(1) << 16;

/// The offset of the mapped range from the start of a block of states of
/// `stateBytes`. The range begins at a multiple of kMappedAlignment of the
/// file, too.
constexpr int64_t getMappedBegin(int64_t stateBytes) {
  return alignTo(stateBytes, kMappedAlignment);
}

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_MAPPING_H
