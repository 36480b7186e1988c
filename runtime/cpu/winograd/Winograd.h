// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// 3 x 3 convolutions with a quarter of the multiplications: Winograd's minimal
// filtering, as Lavin and Gray use it ("Fast Algorithms for Convolutional
// Neural Networks", 2016), forward and for both gradients, f32, channels last.
//
// The order in which a sum is added up depends on sizes alone, not on threads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_WINOGRAD_WINOGRAD_H
#define INGOT_RUNTIME_CPU_WINOGRAD_WINOGRAD_H

#include "runtime/abi/Abi.h"

#include <cstddef>

namespace ingot::runtime {

/// Whether the convolution, and with it both gradients, has this form and the
/// processor the instructions (AVX-512).
bool canRunWinograd(const ingot_conv_desc &desc);

/// Each works in `scratch` of getWinogradScratchBytes, on the thread pool.
void convolveWinograd(const ingot_conv_desc &desc, const float *input,
                      const float *filter, float *output, char *scratch);
void convolveInputGradWinograd(const ingot_conv_desc &desc,
                               const float *outputGrad, const float *filter,
                               float *inputGrad, char *scratch);
void convolveFilterGradWinograd(const ingot_conv_desc &desc,
                                const float *outputGrad, const float *input,
                                float *filterGrad, char *scratch);

/// Bytes of scratch that each of the three needs at most, on `threads`.
size_t getWinogradScratchBytes(const ingot_conv_desc &desc, int64_t threads);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_WINOGRAD_WINOGRAD_H
