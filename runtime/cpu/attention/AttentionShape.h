// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The sizes, options and operands of attention.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_ATTENTIONSHAPE_H
#define INGOT_RUNTIME_CPU_ATTENTION_ATTENTIONSHAPE_H

#include "runtime/abi/Abi.h"

#include <cstdint>

namespace ingot::runtime {

/// A view of [batch, heads, rows, columns] with contiguous columns. Strides are
/// in units of T; a stride of 0 repeats.
template <typename T> struct HeadsView {
  T *data = nullptr;
  int64_t batchStride = 0, headStride = 0, rowStride = 0;

  T *at(int64_t batch, int64_t head, int64_t row) const {
    return data + batch * batchStride + head * headStride + row * rowStride;
  }
};

/// Operands and results as bytes; AttentionShape has their type.
using ReadRows = HeadsView<const char>;
using WrittenRows = HeadsView<char>;

/// Attention dropout: Philox-4x32-10 decides by the position of a weight in
/// [batch, heads, queries, keys] whether it is dropped (docs/spec/random.md).
struct Dropout {
  Dropout() = default;
  Dropout(double ratio, int64_t seed, int64_t step, int32_t stream);

  /// The factor of the weights that are kept; 0 without dropout.
  float scale = 0;
  /// The least value of the upper 24 bits of its random word for which a weight
  /// is kept.
  int32_t least = 0;
  uint32_t key[2] = {}, step = 0, stream = 0;
};

/// The attention result = softmax(scale * q k^T + bias, where allowed) v. Query
/// i attends to key j if -left <= j - i <= right (negative bounds are no
/// bounds), the mask allows it, and j is below the sample's key sequence
/// length. `heads` is a multiple of `keyHeads`: neighbouring heads share keys.
/// Scores and sums are in f32 for every type; on tile units, weights and the
/// gradients of scores are rounded to the GEMM's operand type
/// (gemm::Kernels::packA).
struct AttentionShape {
  int64_t batch = 1, heads = 1, keyHeads = 1, queries = 0, keys = 0;
  int64_t size = 0;      ///< The columns of q and k.
  int64_t valueSize = 0; ///< The columns of v and the result.
  float scale = 1;
  int64_t left = -1, right = -1;
  /// Bias and mask are [batch, heads, queries, keys], or have no data.
  HeadsView<const float> bias = {};
  HeadsView<const unsigned char> mask = {};
  /// INGOT_F32, INGOT_BF16 or INGOT_F16.
  int32_t type = INGOT_F32;
  /// Whether tile units multiply (gemm::getTileKernels), which requires a CPU
  /// that has them.
  bool onTiles = false;
  /// The key sequence length of each sample, or null.
  const int32_t *lengths = nullptr;
  Dropout dropout = {};
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_ATTENTION_ATTENTIONSHAPE_H
