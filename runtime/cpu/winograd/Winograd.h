// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// 3 x 3 convolutions with a quarter of the multiplications: Winograd's minimal
// filtering, as used by Lavin and Gray ("Fast Algorithms for Convolutional
// Neural Networks", 2016), for the forward pass and both gradients, with
// channels last. 16-bit operands are widened as they are transformed, and
// results are rounded.
//
// The order in which a sum is accumulated depends on sizes only, not on
// threads.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_WINOGRAD_WINOGRAD_H
#define INGOT_RUNTIME_CPU_WINOGRAD_WINOGRAD_H

#include "runtime/abi/Abi.h"

#include <cstddef>

namespace ingot::runtime {

// Each function computes a convolution that cpu::isWinograd describes, or one
// of its gradients, on the thread pool, and works in `scratch`, which has
// getWinogradScratchBytes.
void convolveWinograd(const ingot_conv_desc &desc, const void *input,
                      const void *filter, void *output, char *scratch);
void convolveInputGradWinograd(const ingot_conv_desc &desc,
                               const void *outputGrad, const void *filter,
                               void *inputGrad, char *scratch);
void convolveFilterGradWinograd(const ingot_conv_desc &desc,
                                const void *outputGrad, const void *input,
                                void *filterGrad, char *scratch);

/// The most bytes of scratch memory that any of the three needs on `threads`.
size_t getWinogradScratchBytes(const ingot_conv_desc &desc, int64_t threads);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_WINOGRAD_WINOGRAD_H
