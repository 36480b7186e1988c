// SPDX-License-Identifier: Apache-2.0

// The kernels of attention for any CPU: vectors of four lanes, which every
// target has.

#include "runtime/cpu/attention/FlashKernels.h"

#define INGOT_LANES 4
#include "runtime/cpu/attention/FlashBackward.h"
#include "runtime/cpu/attention/FlashForward.h"

const ingot::runtime::flash::Kernels ingot::runtime::flash::genericKernels = {
    computeForward, computeHeadGradients, computeDelta, computeQueryGradients,
    computeKeyGradients};
