// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The table of kernels for tile units, by which trainers are linked without
// them if no step multiplies on tiles.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_KERNELS_TILETABLE_H
#define INGOT_RUNTIME_CPU_GEMM_KERNELS_TILETABLE_H

#include "runtime/cpu/gemm/kernels/GemmKernels.h"

namespace ingot::runtime::gemm {

struct TileTable {
  const Kernels &bf16, &f16, &f32;
};

extern const TileTable tileKernels;

} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_KERNELS_TILETABLE_H
