// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolutions and their gradients, for the fake of cuDNN: any strides, groups,
// paddings and dilations, summed in fp32 (fp64 for fp64).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_CONVOLUTION_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_CONVOLUTION_H

#include "test/fakes/cuda/numbers/Values.h"

#include <vector>

namespace fakes {

/// A tensor that begins with batch and channels, or with output and input
/// channels.
struct Tensor {
  void *data = nullptr;
  Element element = Element::F32;
  std::vector<int64_t> dims, strides;
};

enum class Computed { Output, Input, Filter };

struct ConvolutionCall {
  Tensor input, filter, output;
  std::vector<int64_t> padding, stride, dilation;
  Computed computed = Computed::Output;
};

void compute(const ConvolutionCall &call);

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_CONVOLUTION_H
