// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution of any form in f32, bf16 or f16 with sums in f32, directly from
// rows of pixels: a row of outputs is the product of windows, which are read
// where the pixels are, and of packed filters. Sums are in the same order with
// any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DIRECT_DIRECTCONVOLUTION_H
#define INGOT_RUNTIME_CPU_DIRECT_DIRECTCONVOLUTION_H

#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

namespace ingot::runtime {

/// Computes a convolution or one of its gradients: `first` and `second` are the
/// operands of the entry point of that kind (Abi.h). `scratch` has
/// cpu::getDirectBytes for the pool's threads.
void convolveDirect(const ingot_conv_desc &desc, cpu::ConvKind kind,
                    const void *first, const void *second, void *result,
                    char *scratch);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_DIRECT_DIRECTCONVOLUTION_H
