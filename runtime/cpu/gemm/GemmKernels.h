// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of a product, by the processor's units that run them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_GEMMKERNELS_H
#define INGOT_RUNTIME_CPU_GEMM_GEMMKERNELS_H

#include "runtime/abi/Blocking.h"

#include <cstdint>

namespace ingot::runtime::gemm {

/// Bytes of an element of an operand, whose type is INGOT_F32, INGOT_BF16 or
/// INGOT_F16.
constexpr int64_t getElementBytes(int32_t type) {
  return type == INGOT_F32 ? 4 : 2;
}

/// Elements of an operand. Packing widens them to f32, which is exact.
struct Elements {
  const void *data;
  int32_t type;

  Elements operator+(int64_t count) const;
};

/// The kernels of one kind of unit, with the blocking that they are made for.
struct Kernels : abi::GemmBlocking {
  /// Whether sums are one chain along the inner dimension, so that its blocks
  /// can have any size, in multiples of `depth`: that of a panel of a which
  /// stays in the L1 cache. Else blocks of `inner` are added up apart.
  bool isChain;
  int64_t depth;
  /// Packs a panel of a: `rows` (at most tileRows) x `size` elements, filled up
  /// with zeros. Packed memory is aligned to 64 bytes. Kernels for half
  /// precision take f32 too, which they round to the nearest sum of the parts
  /// that an element has.
  void (*packA)(Elements a, int64_t rowStride, int64_t innerStride,
                int64_t rows, int64_t size, char *packed);
  /// Packs `size` x `columns` elements of b: panels of tileColumns one after
  /// the other, filled up with zeros.
  void (*packB)(Elements b, int64_t innerStride, int64_t columnStride,
                int64_t size, int64_t columns, char *packed);
  /// The product of a panel of a and one of b goes to `rows` x `columns`
  /// elements of c, or is added to them.
  void (*multiplyTile)(int64_t size, const char *a, const char *b, float *c,
                       int64_t rowStride, int64_t rows, int64_t columns,
                       bool adds);
  /// Rounds sums to half precision, to nearest even; numbers that are subnormal
  /// in bf16 may become zero.
  void (*round)(const float *sums, int32_t type, uint16_t *to, int64_t count);
  /// A thread calls them before its first tile and after its last.
  void (*begin)();
  void (*end)();
};

/// With AVX-512, for operands as they are.
const Kernels &getVectorKernels();

/// With AMX, whose units multiply bf16 and add up in f32, for operands of the
/// type. An element of f16 is the sum of two numbers in bf16, and a product
/// that of all four products between them; one of f32 is the sum of three, and
/// a product that of the six largest. What is left out is at most 2^-21 of a
/// product and has either sign: about as much as one rounding in f32, of which
/// there are fewer than in a chain of multiply-adds (Henry, Tang and Heinecke,
/// "Leveraging the bfloat16 Artificial Intelligence Datatype For
/// Higher-Precision Computations", 2019). Numbers of f32 below 2^-110 lose
/// digits, and infinity times a number is NaN.
const Kernels &getTileKernels(int32_t type);

} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_GEMMKERNELS_H
