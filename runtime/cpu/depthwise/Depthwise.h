// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Depthwise convolution, a filter for each channel (cpu::isDepthwise), in f32,
// bf16 or f16 with sums in f32. Sums are in the same order with any number of
// threads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISE_H
#define INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISE_H

#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

namespace ingot::runtime {

/// Computes a depthwise convolution or one of its gradients: `first` and
/// `second` are the operands of the entry point of that kind (Abi.h). `scratch`
/// has cpu::DepthwiseBlocking's bytes for the pool's threads.
void convolveDepthwise(const ingot_conv_desc &desc, cpu::ConvKind kind,
                       const void *first, const void *second, void *result,
                       char *scratch);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISE_H
