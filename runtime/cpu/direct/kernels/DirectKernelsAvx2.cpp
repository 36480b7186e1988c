// SPDX-License-Identifier: Apache-2.0

// The kernels of direct convolution for x86 CPUs with AVX2, FMA and F16C.

#include "runtime/cpu/direct/kernels/DirectKernels.h"
#include "runtime/cpu/vectors/VectorTypes.h"

#ifdef __x86_64__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))),         \
                             apply_to = function)
#define INGOT_LANES 8
#include "runtime/cpu/direct/kernels/DirectVectors.h"
#pragma clang attribute pop

const ingot::runtime::direct::Kernels ingot::runtime::direct::narrowKernels =
    kKernels;
#endif
