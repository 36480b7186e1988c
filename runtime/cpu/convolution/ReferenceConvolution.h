// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution by plain loops, which are slow: for models in f64, and for forms
// that nothing else computes where the vendor's library does not run.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H
#define INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H

#include "runtime/abi/Scratch.h"

namespace ingot::runtime {

/// Computes a convolution or one of its gradients in `T`, float or double:
/// `first` and `second` are the operands of the entry point of that kind
/// (Abi.h).
template <typename T>
void convolveByLoops(const ingot_conv_desc &desc, abi::ConvKind kind,
                     const T *first, const T *second, T *result);

/// The same in any type but f64, with 16-bit operands widened to f32 in the
/// `planned` memory if it is enough.
void convolveByLoops(ingot_context *context, const ingot_conv_desc &desc,
                     abi::ConvKind kind, const void *first, const void *second,
                     void *result, void *planned);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H
