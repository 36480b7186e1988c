// SPDX-License-Identifier: Apache-2.0

// The kernels of a GEMM for any CPU: vectors of four lanes, which every target
// has.

#include "runtime/cpu/gemm/kernels/GemmKernels.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/VectorTypes.h"

#define INGOT_LANES 4
#include "runtime/cpu/gemm/kernels/VectorGemv.h"
#include "runtime/cpu/gemm/kernels/VectorStrassen.h"

const ingot::runtime::gemm::Kernels ingot::runtime::gemm::genericKernels =
    makeVectorKernels(kBlocking, packA, packB, multiplyTile, multiplyVector);
const ingot::runtime::gemm::Kernels
    ingot::runtime::gemm::genericStrassenKernels =
        makeVectorKernels(kStrassen, packStrassenA, packStrassenB,
                          multiplyStrassen, multiplyVector);
