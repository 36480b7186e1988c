// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution in f64 by plain loops, which are slow, for models in f64: the
// vendor's library does not compute in it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H
#define INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H

#include "runtime/abi/Abi.h"

namespace ingot::runtime {

void convolveF64(ingot_context *context, const ingot_conv_desc &desc,
                 const double *input, const double *filter, double *output);
void convolveInputGradF64(ingot_context *context, const ingot_conv_desc &desc,
                          const double *outputGrad, const double *filter,
                          double *inputGrad);
void convolveFilterGradF64(ingot_context *context, const ingot_conv_desc &desc,
                           const double *outputGrad, const double *input,
                           double *filterGrad);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_CONVOLUTION_REFERENCECONVOLUTION_H
