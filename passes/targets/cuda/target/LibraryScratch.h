// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Scratch memory, in bytes, of calls of CUDA's libraries: the workspace within
// which cuBLASLt and cuDNN choose their algorithms, and the copies that the
// runtime makes for them (runtime/cuda/libraries).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_TARGET_LIBRARYSCRATCH_H
#define INGOT_PASSES_TARGETS_CUDA_TARGET_LIBRARYSCRATCH_H

#include "runtime/abi/Abi.h"

#include <cstdint>

namespace ingot::cuda {

constexpr int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Returns the bytes of copies for a convolution. Kernels on tensor cores
/// require channels last, in units of 16 bytes, and the channels of each group
/// contiguous; f32, which these round to TF32, is always copied on GPUs before
/// sm_90. Other kernels require channels first.
constexpr int64_t getCopyBytes(const ingot_conv_desc &desc, bool roundsF32) {
  if (desc.type == INGOT_F64)
    return 0;
  bool isHalf = desc.type != INGOT_F32, onTensorCores = isHalf || roundsF32;
  int64_t size = isHalf ? 2 : 4, multiple = onTensorCores ? 16 / size : 1;
  auto bytes = [&](int64_t rows, const int64_t *extents, int64_t channels,
                   bool channelsLast) {
    bool isCopied = onTensorCores && (!isHalf || desc.groups != 1);
    if (channelsLast == onTensorCores && channels % multiple == 0 && !isCopied)
      return int64_t(0);
    for (int64_t i = 0; i < desc.spatial_rank; ++i)
      rows *= extents[i];
    return roundUp(rows * roundUp(channels, multiple) * size, INGOT_ALIGNMENT);
  };
  return bytes(desc.batch, desc.in, desc.in_channels, desc.channels_last) +
         bytes(desc.batch, desc.out, desc.out_channels, desc.channels_last) +
         bytes(desc.out_channels, desc.kernel, desc.in_channels / desc.groups,
               desc.filter_channels_last);
}

/// Returns the bytes of sums in f32: the gradient of queries, and two sums per
/// query.
constexpr int64_t getSumBytes(const ingot_attention_desc &desc) {
  return roundUp(desc.batch * desc.heads * desc.queries * (desc.size + 2) * 4,
                 INGOT_ALIGNMENT);
}

/// Returns the bytes of scores: the gradient is deterministic only with the
/// gradients of all scores in memory, in blocks of 64 by 64 (cudnn-frontend
/// 1.32, SDPA_backward).
constexpr int64_t getScoreBytes(const ingot_attention_desc &desc) {
  return roundUp(desc.batch * desc.heads * roundUp(desc.queries, 64) *
                     roundUp(desc.keys, 64) * 2,
                 INGOT_ALIGNMENT);
}

} // namespace ingot::cuda

#endif // INGOT_PASSES_TARGETS_CUDA_TARGET_LIBRARYSCRATCH_H
