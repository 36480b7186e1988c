// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Runs a GEMM on the thread pool, by the schedule that fits its sizes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_RUNGEMM_H
#define INGOT_RUNTIME_CPU_GEMM_RUNGEMM_H

#include "runtime/cpu/gemm/Gemm.h"

#include <cstddef>

namespace ingot::runtime {

/// Whether runGemm rounds the result, whose type is `roundedType`.
bool canRound(const Gemm &gemm);

/// Bytes of scratch memory that runGemm needs.
size_t getGemmScratchBytes(const Gemm &gemm);

/// Runs a GEMM on the thread pool. `scratch` is aligned to 64 bytes.
void runGemm(const Gemm &gemm, char *scratch);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_GEMM_RUNGEMM_H
