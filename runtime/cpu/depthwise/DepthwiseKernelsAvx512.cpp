// SPDX-License-Identifier: Apache-2.0

// The kernels of depthwise convolution for x86 CPUs with AVX-512.

#include "runtime/cpu/depthwise/DepthwiseKernels.h"
#include "runtime/cpu/vectors/VectorTypes.h"

#ifdef __x86_64__
#pragma clang attribute push(                                                  \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,f16c"))),    \
    apply_to = function)
#define INGOT_LANES 16
#include "runtime/cpu/depthwise/DepthwiseVectors.h"
#pragma clang attribute pop

const ingot::runtime::depthwise::Kernels
    ingot::runtime::depthwise::avx512Kernels = kKernels;
#endif
