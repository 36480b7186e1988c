// SPDX-License-Identifier: Apache-2.0

// The kernels of direct convolution for any CPU.

#include "runtime/cpu/direct/kernels/DirectKernels.h"
#include "runtime/cpu/vectors/VectorTypes.h"

#define INGOT_LANES 4
#include "runtime/cpu/direct/kernels/DirectVectors.h"

const ingot::runtime::direct::Kernels ingot::runtime::direct::genericKernels =
    kKernels;
