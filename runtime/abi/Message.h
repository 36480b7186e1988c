// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What a rank sends of a bucket with a code: known to the compiler, which plans
// with it, and to the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_MESSAGE_H
#define INGOT_RUNTIME_ABI_MESSAGE_H

#include "runtime/abi/Abi.h"
#include "runtime/abi/Align.h"

namespace ingot::abi {

/// A block of elements in a message of INGOT_INT8.
struct Int8Block {
  float scale;
  int8_t values[INGOT_INT8_BLOCK];
};

/// An element in a message of INGOT_TOPK. Those that say nothing add 0 to the
/// first element; on devices, where messages are in order, their index is that
/// behind the last one.
struct KeptElement {
  uint32_t index;
  float value;
};

/// The size of one rank's message for f32 elements; `compression` is not
/// INGOT_UNCOMPRESSED.
constexpr int64_t getMessageBytes(int32_t compression, int64_t elements,
                                  int64_t k) {
  if (compression == INGOT_TOPK)
    return k * static_cast<int64_t>(sizeof(KeptElement));
  return divideCeil(elements, INGOT_INT8_BLOCK) *
         static_cast<int64_t>(sizeof(Int8Block));
}

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_MESSAGE_H
