// SPDX-License-Identifier: Apache-2.0

// The kernels of Winograd convolution for any CPU: vectors of four
// lanes, which every target has.

#include "runtime/cpu/vectors/VectorTypes.h"
#include "runtime/cpu/winograd/WinogradKernels.h"

#define INGOT_LANES 4
#include "runtime/cpu/winograd/WinogradVectors.h"

const ingot::runtime::winograd::Kernels
    ingot::runtime::winograd::genericKernels = kKernels;
