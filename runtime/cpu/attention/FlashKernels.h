// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kernels of attention (FlashAttention.h): each computes one block, and is
// compiled once per instruction set.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHKERNELS_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHKERNELS_H

#include "runtime/abi/Philox.h"
#include "runtime/cpu/attention/AttentionShape.h"
#include "runtime/cpu/gemm/kernels/GemmKernels.h"
#include "runtime/cpu/plan/Scratch.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/VectorTypes.h"

namespace ingot::runtime::flash {

inline constexpr int64_t kQueryBlock = cpu::AttentionBlocking::kQueries;
inline constexpr int64_t kKeyBlock = cpu::AttentionBlocking::kKeys;
inline constexpr int64_t kForwardKeys = cpu::AttentionBlocking::kForwardKeys;
inline constexpr int64_t kMostQueries =
    std::max(kQueryBlock, cpu::AttentionBlocking::kForwardQueries);
inline constexpr int64_t kMostKeys = std::max(kKeyBlock, kForwardKeys);

inline bool isHalf(const AttentionShape &shape) {
  return shape.type != INGOT_F32;
}

/// Columns of a packed row.
inline int64_t padded(int64_t columns) {
  return abi::alignTo(columns, cpu::AttentionBlocking::kColumns);
}

/// The scratch memory of a thread.
inline cpu::AttentionScratch getScratch(const AttentionShape &s) {
  ingot_attention_desc desc = {};
  desc.heads = s.heads;
  desc.key_heads = s.keyHeads;
  desc.queries = s.queries;
  desc.size = s.size;
  desc.value_size = s.valueSize;
  desc.type = s.type;
  return {desc, s.onTiles};
}

/// The queries of a task of the forward pass.
inline int64_t forwardQueriesOf(const AttentionShape &s, bool onTiles) {
  return onTiles ? kQueryBlock
                 : cpu::AttentionBlocking::forwardQueries(s.batch * s.heads,
                                                          s.queries);
}

/// Keys of a sample of the batch that are below its length.
inline int64_t countKeys(const AttentionShape &s, int64_t batch) {
  return s.lengths ? smaller(s.keys, larger(0, s.lengths[batch])) : s.keys;
}

struct Operands {
  const AttentionShape &shape;
  ReadRows q, k, v, result, cotangent;
  WrittenRows out, dq, dk, dv;
  float *lse, *delta;
  /// The kernels of tile units, or null where vector units multiply.
  const gemm::Kernels *tiles;
};

/// Computes the block with the index `task` on one thread.
using Kernel = void (*)(const Operands &, int64_t task, float *scratch);

struct Kernels {
  /// The result and the log-sum-exp of a block of queries of one head.
  Kernel forward;
  /// All gradients of one key head and of the heads that use it.
  Kernel headGradients;
  /// Computes the same gradients in smaller tasks, a block of queries of one
  /// head and a block of keys of one key head, for which scores are computed
  /// twice. The bits are the same. First comes what they have in common: for
  /// each query of a block the dot product of the result and its cotangent.
  Kernel delta, queryGradients, keyGradients;
};

extern const Kernels genericKernels;
#if defined(__x86_64__)
extern const Kernels avx2Kernels, avx512Kernels;
#endif

} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHKERNELS_H
