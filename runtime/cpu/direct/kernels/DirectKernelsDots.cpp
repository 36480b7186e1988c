// SPDX-License-Identifier: Apache-2.0

// The kernels of direct convolution for x86 CPUs with AVX512-BF16.

#include "runtime/cpu/direct/kernels/DirectKernels.h"
#include "runtime/cpu/vectors/VectorTypes.h"

#ifdef __x86_64__
#include <immintrin.h>

#pragma clang attribute push(                                                  \
    __attribute__((                                                            \
        target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,fma,f16c"))),    \
    apply_to = function)
#define INGOT_LANES 16
#define INGOT_PAIRS
#include "runtime/cpu/direct/kernels/DirectVectors.h"
#pragma clang attribute pop

const ingot::runtime::direct::Kernels ingot::runtime::direct::dotKernels =
    kKernels;
#endif
