// SPDX-License-Identifier: Apache-2.0

// The kernels of attention for x86 CPUs with AVX-512.

#include "runtime/cpu/attention/FlashKernels.h"

#if defined(__x86_64__)
#pragma clang attribute push(                                                  \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))),         \
    apply_to = function)
#define INGOT_LANES 16
#include "runtime/cpu/attention/FlashBackward.h"
#include "runtime/cpu/attention/FlashForward.h"
#pragma clang attribute pop

const ingot::runtime::flash::Kernels ingot::runtime::flash::avx512Kernels = {
    computeForward, computeHeadGradients, computeDelta, computeQueryGradients,
    computeKeyGradients};
#endif
