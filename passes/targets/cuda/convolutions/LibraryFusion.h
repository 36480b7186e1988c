// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which convolutions cuDNN fuses with normalizations of their input and with
// sums of their result, as it plans for described GPUs (cuDNN 9.19,
// test/runtime/cuda/libraries/DnnFusionTest).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_CONVOLUTIONS_LIBRARYFUSION_H
#define INGOT_PASSES_TARGETS_CUDA_CONVOLUTIONS_LIBRARYFUSION_H

#include "runtime/abi/Abi.h"

#include <cstdint>

namespace ingot::cuda {

/// Returns why cuDNN does not fuse a convolution on GPUs of a compute
/// capability, times ten; empty if it does.
constexpr const char *refuseFusion(const ingot_conv_desc &desc,
                                   unsigned capability) {
  constexpr unsigned end = 100;
  if (desc.type != INGOT_F16)
    return "the library fuses normalizations into convolutions in fp16 only";
  if (capability >= end)
    return "the library's fused convolutions for this architecture add up in "
           "an order that varies, or are none";
  constexpr int64_t channels = 8, window = 5, planes = 2;
  if (!desc.channels_last || !desc.filter_channels_last)
    return "the library fuses normalizations into convolutions with channels "
           "last only";
  if (desc.spatial_rank > planes || desc.groups != 1)
    return "the library fuses normalizations into convolutions of one group "
           "and two dimensions only";
  if (desc.in_channels % channels != 0 || desc.out_channels % channels != 0)
    return "the library fuses normalizations into convolutions of multiples "
           "of 8 channels only";
  for (int64_t i = 0; i < desc.spatial_rank; ++i)
    if (desc.kernel[i] > window || desc.pad_low[i] != desc.pad_high[i])
      return "the library fuses normalizations into convolutions of windows "
             "of up to 5, with equal padding on both sides, only";
  return "";
}

} // namespace ingot::cuda

#endif // INGOT_PASSES_TARGETS_CUDA_CONVOLUTIONS_LIBRARYFUSION_H
