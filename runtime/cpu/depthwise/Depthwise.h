// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Depthwise convolution in f32, a filter for each channel, with channels last
// (abi::isDepthwise says of which convolutions). Sums are in the same order
// with any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISE_H
#define INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISE_H

#include "runtime/abi/Scratch.h"

namespace ingot::runtime {

/// Whether convolveDepthwise is faster on this CPU than the vendor's library,
/// as measured.
bool isFastDepthwise(const ingot_conv_desc &desc, abi::ConvKind kind);

/// Computes a depthwise convolution or one of its gradients: `first` and
/// `second` are the operands of the entry point of that kind (Abi.h). `scratch`
/// has abi::getDepthwiseBytes(desc) bytes.
void convolveDepthwise(const ingot_conv_desc &desc, abi::ConvKind kind,
                       const float *first, const float *second, float *result,
                       char *scratch);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISE_H
