// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Products of matrices in f32: the blocked algorithm of Goto and van de Geijn
// ("Anatomy of High-Performance Matrix Multiplication", 2008) in the variant
// of BLIS (Van Zee and van de Geijn, 2015), for processors with AVX-512 and,
// with what they multiply split in three, for the tile units of AMX.
//
// The order in which a sum is added up depends on its length and the type of
// the operands alone: neither on the other sizes nor on threads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_GEMM_H
#define INGOT_RUNTIME_CPU_GEMM_GEMM_H

#include "runtime/abi/Abi.h"
#include "runtime/cpu/gemm/GemmKernels.h"

#include <cstddef>
#include <cstdint>

namespace ingot::runtime {

/// c = a x b for each of `batch` pairs of matrices, which are multiplied and
/// added up in f32. Strides are in elements; of each operand's two strides one
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
  /// Called with rows and columns of c, rows counted through all batches, as
  /// they are complete. May be null.
  ingot_epilogue_fn epilogue = nullptr;
  void *const *buffers = nullptr;
  /// What the epilogue calls row 0.
  int64_t firstRow = 0;
  /// Where the result is in half precision: if canRound(), it goes to `rounded`
  /// (batches one behind the other) and `c` is not used, else the caller rounds
  /// `c`.
  int32_t roundedType = INGOT_F32;
  uint16_t *rounded = nullptr;
  int64_t roundedRow = 0;
  /// Whether tile units do it (gemm::getTileKernels): both operands have one
  /// type, and the processor has them. Else vector units do.
  bool onTiles = false;
};

/// Whether this processor has AVX-512, without which nothing here runs, and
/// AMX.
bool canRunGemm();
bool hasTileUnits();

/// Whether runGemm rounds the result, whose type is `roundedType`.
bool canRound(const Gemm &gemm);

/// Bytes that runGemm needs to pack operands in.
size_t getGemmScratchBytes(const Gemm &gemm);

/// Multiplies on the thread pool. `scratch` is aligned to 64 bytes.
void runGemm(const Gemm &gemm, char *scratch);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_GEMM_GEMM_H
