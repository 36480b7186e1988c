// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attention and its gradient without a matrix of scores in memory, after
// "FlashAttention-2" (Dao, 2023): scores of a block of queries with a block of
// keys stay in the cache, with a running maximum and sum for each query.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHATTENTION_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHATTENTION_H

#include "runtime/cpu/attention/AttentionShape.h"

namespace ingot::runtime {

/// Bytes of scratch memory for each thread, for the forward pass and for the
/// gradient; a multiple of 64.
int64_t flashAttentionScratch(const AttentionShape &shape);

/// Computes the result and the log-sum-exp of each query (lse is contiguous
/// [batch, heads, queries]). A query that is fully masked has result 0 and lse
/// +infinity. `scratch` has flashAttentionScratch for every thread of the pool.
void flashAttention(const AttentionShape &shape, ReadRows q, ReadRows k,
                    ReadRows v, WrittenRows result, float *lse, void *scratch);

/// Computes the vector-Jacobian product from the results of the forward pass.
/// `delta` is memory for [batch, heads, queries]. One thread sums each element
/// of a gradient in a fixed order, so that bits do not depend on the thread
/// count.
void flashAttentionGrad(const AttentionShape &shape, ReadRows q, ReadRows k,
                        ReadRows v, ReadRows result, const float *lse,
                        ReadRows cotangent, WrittenRows dq, WrittenRows dk,
                        WrittenRows dv, float *delta, void *scratch);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHATTENTION_H
