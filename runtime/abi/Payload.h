// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The payloads of compressed buckets: their layout, which generated GPU kernels
// and the runtime share, and their size, with which the compiler plans.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_PAYLOAD_H
#define INGOT_RUNTIME_ABI_PAYLOAD_H

#include "runtime/abi/Abi.h"
#include "runtime/abi/Align.h"

namespace ingot::abi {

/// A block of elements in a payload of INGOT_INT8.
struct Int8Block {
  float scale;
  int8_t values[INGOT_INT8_BLOCK];
};

/// An element in a payload of INGOT_TOPK. Where fewer than k elements are not
/// 0, the CPU fills a payload up with additions of 0 to the first element. On
/// GPUs, whose payloads are sorted, the index of such an entry is the number of
/// elements.
struct TopKElement {
  uint32_t index;
  float value;
};

/// Bytes of one rank's payload for f32 elements; `compression` is not
/// INGOT_UNCOMPRESSED.
constexpr int64_t getPayloadBytes(int32_t compression, int64_t elements,
                                  int64_t k) {
  if (compression == INGOT_TOPK)
    return k * static_cast<int64_t>(sizeof(TopKElement));
  return divideCeil(elements, INGOT_INT8_BLOCK) *
         static_cast<int64_t>(sizeof(Int8Block));
}

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_PAYLOAD_H
