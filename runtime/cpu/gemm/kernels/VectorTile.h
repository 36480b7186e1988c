// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The tile of a product whose sums stay in registers: 24 of 32, or 12 of 16.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORTILE_H
#define INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORTILE_H

#include "runtime/cpu/vectors/Vectors.h"

namespace ingot::runtime::vectors {
namespace {

constexpr cpu::GemmBlocking kBlocking =
    kLanes == 16 ? cpu::kVectorBlocking : cpu::getNarrowBlocking(kLanes);
constexpr int kTileRows = int(kBlocking.tileRows);
constexpr int64_t kTileColumns = kBlocking.tileColumns;
static_assert(kTileColumns == 2 * kLanes, "sums of two vectors a row");

} // namespace
} // namespace ingot::runtime::vectors

#endif // INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORTILE_H
