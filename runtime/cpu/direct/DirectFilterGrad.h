// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The gradient of the filter in direct convolution.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DIRECT_DIRECTFILTERGRAD_H
#define INGOT_RUNTIME_CPU_DIRECT_DIRECTFILTERGRAD_H

#include "runtime/cpu/direct/PixelRows.h"

namespace ingot::runtime::direct {

/// Whether that of filters of one tap, in f32 with channels last, is faster
/// than a GEMM, as measured: with registers for tiles of whole vectors, where
/// the output's gradient is read in place and so few channels are on one side
/// that packing takes the GEMM as long as multiplying.
bool isFastFilterGrad(const ingot_conv_desc &desc);

/// Computes the gradient of the filter, as convolveDirect describes it.
void convolveFilterGradDirect(const ingot_conv_desc &desc, const Axes &axes,
                              const cpu::DirectBlocking &blocking,
                              const void *outputGrad, const void *input,
                              void *filterGrad, char *scratch);

} // namespace ingot::runtime::direct

#endif // INGOT_RUNTIME_CPU_DIRECT_DIRECTFILTERGRAD_H
