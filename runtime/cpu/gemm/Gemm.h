// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// GEMM with sums in f32: the blocked algorithm of Goto and van de Geijn
// ("Anatomy of High-Performance Matrix Multiplication", 2008) in the variant of
// BLIS (Van Zee and van de Geijn, 2015), for vector units of any width and for
// the tile units of AMX, on which an operand in f32 is split in three.
//
// The order in which a sum is accumulated depends on its length and on the type
// of the operands only, neither on the other sizes nor on threads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_GEMM_H
#define INGOT_RUNTIME_CPU_GEMM_GEMM_H

#include "runtime/abi/Abi.h"
#include "runtime/cpu/gemm/kernels/GemmKernels.h"

#include <cstddef>
#include <cstdint>

namespace ingot::runtime {

/// Computes c = a x b for each of `batch` pairs of matrices, with products and
/// sums in f32. Strides are in elements; of each operand's two strides one
/// is 1.
struct Gemm {
  int64_t batch, m, n, k;
  gemm::Elements a;
  int64_t aBatch, aRow, aInner;
  gemm::Elements b;
  int64_t bBatch, bInner, bColumn;
  /// Rows of `c` are contiguous.
  float *c;
  int64_t cBatch, cRow;
  /// Called for rows and columns of c as they are complete; rows are counted
  /// through all batches. May be null.
  ingot_epilogue_fn epilogue = nullptr;
  void *const *buffers = nullptr;
  /// The epilogue's number of row 0.
  int64_t firstRow = 0;
  /// The type of a 16-bit result. If canRound(), the result goes to `rounded`,
  /// with batches one after the other, and `c` is not used; else the caller
  /// rounds `c`.
  int32_t roundedType = INGOT_F32;
  uint16_t *rounded = nullptr;
  int64_t roundedRow = 0;
  /// Whether tile units multiply (gemm::getTileKernels), which requires
  /// operands of the same type and a CPU with these units. Otherwise vector
  /// units do.
  bool onTiles = false;
  /// Whether vector units multiply by Strassen's algorithm
  /// (gemm::getStrassenKernels), unless they multiply bf16 at once.
  bool byStrassen = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_GEMM_GEMM_H
