// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The gradient of the filter in depthwise convolution.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEFILTERGRAD_H
#define INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEFILTERGRAD_H

#include "runtime/cpu/direct/PixelRows.h"

namespace ingot::runtime::depthwise {

/// Computes the gradient of the filter, as convolveDepthwise describes it.
void correlateImages(const ingot_conv_desc &desc,
                     const cpu::DepthwiseBlocking &blocking,
                     const direct::Axes &axes, const direct::Images &grads,
                     const direct::Images &input, void *filterGrad,
                     char *scratch);

} // namespace ingot::runtime::depthwise

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEFILTERGRAD_H
