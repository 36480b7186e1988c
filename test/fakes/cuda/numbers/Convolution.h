// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolutions and their gradients, for the fake of cuDNN: any strides, groups,
// paddings and dilations, summed in fp32 (fp64 for fp64).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_CONVOLUTION_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_CONVOLUTION_H

#include "test/fakes/cuda/numbers/StridedTensor.h"

namespace fakes {

enum class Computed { Output, Input, Filter };

/// Tensors begin with batch and channels, filters with output and input
/// channels.
struct ConvolutionCall {
  Tensor input, filter, output;
  /// Padding before the first element, and after the last one.
  std::vector<int64_t> padding, paddingAfter, stride, dilation;
  Computed computed = Computed::Output;
};

void compute(const ConvolutionCall &call);

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_CONVOLUTION_H
