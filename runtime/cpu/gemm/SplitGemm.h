// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The schedule of a GEMM for a long inner dimension and a small result
// (split-K), such as the gradient of a filter of one tap: a thread multiplies a
// part of the inner dimension, whose sums are added to those of the others at
// the end. Threads share nothing until then, and wait for each other once.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_SPLITGEMM_H
#define INGOT_RUNTIME_CPU_GEMM_SPLITGEMM_H

#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/gemm/kernels/GemmKernels.h"

namespace ingot::runtime::gemm {

class SplitGemm {
public:
  SplitGemm(const Gemm &g, const Kernels &kernels);

  /// Whether the schedule fits (cpu::isSplit), on vector units.
  bool fits() const;
  /// Bytes of scratch memory: the sums of each part, and for each thread a
  /// packed block and a packed panel.
  int64_t getScratchBytes() const;
  void run(char *scratch) const;

private:
  float *getSums(char *scratch, int64_t part) const;
  int64_t getPackedBytes() const;
  /// Multiplies the inner elements of a part, with memory for packed operands.
  void multiplyPart(int64_t part, float *sums, char *packed) const;
  /// Adds the sums of the rows [begin, end).
  void finish(int64_t begin, int64_t end, char *scratch) const;

  const Gemm &g;
  const Kernels &kernels;
  /// Elements of the inner dimension of a part, and of a packed block.
  int64_t partInner, inner;
  int64_t columns;
};

} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_SPLITGEMM_H
