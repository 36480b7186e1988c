// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution by plain loops, which are slow: for models in f64, and as what
// tests compare with.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H
#define INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H

#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

namespace ingot::runtime {

/// Computes a convolution or one of its gradients in `T`, float or double:
/// `first` and `second` are the operands of the entry point of that kind
/// (Abi.h).
template <typename T>
void convolveByLoops(const ingot_conv_desc &desc, cpu::ConvKind kind,
                     const T *first, const T *second, T *result);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H
