// SPDX-License-Identifier: Apache-2.0

// The kernels of depthwise convolution for any CPU.

#include "runtime/cpu/depthwise/DepthwiseKernels.h"
#include "runtime/cpu/vectors/VectorTypes.h"

#define INGOT_LANES 4
#include "runtime/cpu/depthwise/DepthwiseVectors.h"

const ingot::runtime::depthwise::Kernels
    ingot::runtime::depthwise::genericKernels = kKernels;
