// SPDX-License-Identifier: Apache-2.0

// The kernels of a GEMM for x86 CPUs with AVX-512.

#include "runtime/cpu/gemm/kernels/GemmKernels.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/VectorTypes.h"

#ifdef __x86_64__
#pragma clang attribute push(                                                  \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,f16c"))),    \
    apply_to = function)
#define INGOT_LANES 16
#include "runtime/cpu/gemm/kernels/VectorGemv.h"
#include "runtime/cpu/gemm/kernels/VectorStrassen.h"
#pragma clang attribute pop

const ingot::runtime::gemm::Kernels ingot::runtime::gemm::avx512Kernels =
    makeVectorKernels(kBlocking, packA, packB, multiplyTile, multiplyVector);
const ingot::runtime::gemm::Kernels
    ingot::runtime::gemm::avx512StrassenKernels =
        makeVectorKernels(kStrassen, packStrassenA, packStrassenB,
                          multiplyStrassen, multiplyVector);
#endif
