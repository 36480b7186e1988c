// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attention and its gradient without a matrix of scores in memory, after
// "FlashAttention-2" (Dao, 2023): blocks of queries meet blocks of keys in the
// cache, with a running maximum and sum per query.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHATTENTION_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHATTENTION_H

#include "runtime/abi/Abi.h"

namespace ingot::runtime {

/// [batch, heads, rows, columns] anywhere in memory: strides in units of T, the
/// columns contiguous. A stride of 0 repeats.
template <typename T> struct HeadsView {
  T *data = nullptr;
  int64_t batchStride = 0, headStride = 0, rowStride = 0;

  T *at(int64_t batch, int64_t head, int64_t row) const {
    return data + batch * batchStride + head * headStride + row * rowStride;
  }
};

/// Operands and results, by bytes: their type is that of the shape.
using ReadRows = HeadsView<const char>;
using WrittenRows = HeadsView<char>;

/// Weights that are dropped: those at a position in [batch, heads, queries,
/// keys] of which Philox-4x32-10 says so (docs/spec/random.md).
struct Dropout {
  Dropout() = default;
  Dropout(double ratio, int64_t seed, int64_t step, int32_t stream);

  /// The factor of weights that are not dropped; 0 without dropout.
  float scale = 0;
  /// The least that the upper 24 bits of its word are if a weight stays.
  int32_t least = 0;
  uint32_t key[2] = {}, step = 0, stream = 0;
};

/// result = softmax(scale * q k^T + bias, where allowed) v. Query i may look
/// at key j if -left <= j - i <= right (negative bounds: no bound), the mask
/// says so, and j is below the batch's length. `heads` is a multiple of
/// `keyHeads`: neighbours share keys. Scores and sums are in f32, whatever the
/// type; on tile units, weights and the gradients of scores are rounded to what
/// a product reads (gemm::Kernels::packA).
struct AttentionShape {
  int64_t batch = 1, heads = 1, keyHeads = 1, queries = 0, keys = 0;
  int64_t size = 0;      ///< columns of q and k
  int64_t valueSize = 0; ///< columns of v and the result
  float scale = 1;
  int64_t left = -1, right = -1;
  HeadsView<const float> bias = {};         ///< [.., queries, keys], or no data
  HeadsView<const unsigned char> mask = {}; ///< [.., queries, keys], or no data
  int32_t type = INGOT_F32;                 ///< or INGOT_BF16, INGOT_F16
  /// Whether tile units multiply (gemm::getTileKernels); the processor has
  /// them.
  bool onTiles = false;
  const int32_t *lengths = nullptr; ///< of each batch, or no data
  Dropout dropout = {};
};

/// Bytes of scratch per thread, for either direction; aligned to 64.
int64_t flashAttentionScratch(const AttentionShape &shape);

/// Writes the result and, per query, the log-sum-exp of the scores
/// (lse: [batch, heads, queries], contiguous). A query that may look nowhere
/// has result 0 and lse +infinity. `scratch` serves every thread of the pool.
void flashAttention(const AttentionShape &shape, ReadRows q, ReadRows k,
                    ReadRows v, WrittenRows result, float *lse, void *scratch);

/// The vector-Jacobian product, from what the forward pass wrote. `delta` is
/// room for [batch, heads, queries]. Each gradient element is summed by one
/// thread in a fixed order: the bits do not depend on the thread count.
void flashAttentionGrad(const AttentionShape &shape, ReadRows q, ReadRows k,
                        ReadRows v, ReadRows result, const float *lse,
                        ReadRows cotangent, WrittenRows dq, WrittenRows dk,
                        WrittenRows dv, float *delta, void *scratch);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHATTENTION_H
