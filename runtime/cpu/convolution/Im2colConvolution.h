// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolutions in 16-bit precision as a GEMM on tile units (im2col): the window
// of the input under every position of the output becomes a row (Chellapilla,
// Puri and Simard, "High Performance Convolutional Neural Networks for Document
// Processing", 2006). This is for images so small that the tiles of direct
// convolution, which hold pixels of one row, stay mostly empty (isIm2col in
// runtime/cpu/plan decides).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_CONVOLUTION_IM2COLCONVOLUTION_H
#define INGOT_RUNTIME_CPU_CONVOLUTION_IM2COLCONVOLUTION_H

#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

struct ingot_context;

namespace ingot::runtime {

/// Computes a convolution or one of its gradients: `first` and `second` are the
/// operands of the entry point of that kind (Abi.h). Channels come last, there
/// is one group, and the gradient of the input has strides of 1.
void convolveIm2col(ingot_context *context, const ingot_conv_desc &desc,
                    cpu::ConvKind kind, const void *first, const void *second,
                    void *result, void *planned);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_CONVOLUTION_IM2COLCONVOLUTION_H
