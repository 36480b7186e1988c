// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A tensor map as the fake driver encodes it, and what it says to the loads of
// kernels. The real one is opaque; a kernel only passes it on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_ASYNC_TENSORMAP_H
#define INGOT_TEST_FAKES_CUDA_PTX_ASYNC_TENSORMAP_H

#include <cstdint>

namespace fakes::ptx {

/// The map of a tensor with up to three dimensions, innermost first.
struct TensorMap {
  static constexpr uint32_t valid = 0x7E45011A;
  static constexpr int mostDims = 3;
  static constexpr uint64_t alignment = 64;

  uint32_t magic = 0;
  uint32_t rank = 0;
  uint32_t elementBytes = 0;
  /// The span of the swizzle in bytes; 0 for none.
  uint32_t swizzleBytes = 0;
  uint64_t address = 0;
  uint64_t sizes[mostDims] = {};
  /// In bytes; of the innermost dimension, the size of an element.
  uint64_t strides[mostDims] = {};
  uint32_t box[mostDims] = {};

  uint64_t getBoxBytes() const {
    uint64_t bytes = elementBytes;
    for (uint32_t i = 0; i < rank; ++i)
      bytes *= box[i];
    return bytes;
  }
};
static_assert(sizeof(TensorMap) <= 128);

/// Where a byte at `address` of shared memory is with a swizzle of 128 bytes:
/// units of 16 bytes are exchanged within rows of 128, by the number of the row
/// among eight.
constexpr uint64_t swizzle128(uint64_t address) {
  return address ^ ((address >> 7 & 7) << 4);
}

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_ASYNC_TENSORMAP_H
