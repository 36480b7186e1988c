// SPDX-License-Identifier: Apache-2.0

// The kernels of attention for x86 CPUs with AVX2 and FMA.

#include "runtime/cpu/attention/FlashKernels.h"

#if defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))),         \
                             apply_to = function)
#define INGOT_LANES 8
#include "runtime/cpu/attention/FlashBackward.h"
#include "runtime/cpu/attention/FlashForward.h"
#pragma clang attribute pop

const ingot::runtime::flash::Kernels ingot::runtime::flash::avx2Kernels = {
    computeForward, computeHeadGradients, computeDelta, computeQueryGradients,
    computeKeyGradients};
#endif
