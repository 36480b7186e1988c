// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/MatmulMaps.h"

using namespace ingot::runtime;

namespace {
/// Matrices of [batch, rows, columns] in memory, and the rows of a box.
struct Matrices {
  const void *address;
  int64_t rows, columns, boxRows;
};
} // namespace

void MatmulMaps::encode(const Driver &driver,
                        const ingot_matmul_grid_desc &matmul, const void *a,
                        const void *b) {
  const ingot_matmul_desc &desc = matmul.matmul;
  constexpr int64_t bytes = 2;
  // 128 bytes, the span of the swizzle.
  constexpr cuuint32_t boxColumns = 64;
  Matrices lhs = desc.transpose_a ? Matrices{a, desc.k, desc.m, matmul.tile_k}
                                  : Matrices{a, desc.m, desc.k, matmul.tile_m};
  Matrices rhs = desc.transpose_b ? Matrices{b, desc.n, desc.k, matmul.tile_n}
                                  : Matrices{b, desc.k, desc.n, matmul.tile_k};
  const Matrices *both[] = {&lhs, &rhs};
  for (int i = 0; i < 2; ++i) {
    const Matrices &matrices = *both[i];
    constexpr cuuint32_t rank = 3;
    cuuint64_t sizes[rank] = {static_cast<cuuint64_t>(matrices.columns),
                              static_cast<cuuint64_t>(matrices.rows),
                              static_cast<cuuint64_t>(desc.batch)};
    cuuint64_t strides[rank - 1] = {sizes[0] * bytes,
                                    sizes[0] * sizes[1] * bytes};
    cuuint32_t box[rank] = {boxColumns,
                            static_cast<cuuint32_t>(matrices.boxRows), 1};
    cuuint32_t steps[rank] = {1, 1, 1};
    driver.check(
        driver.cuTensorMapEncodeTiled(
            &maps[i],
            desc.a_type == INGOT_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                      : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            rank, const_cast<void *>(matrices.address), sizes, strides, box,
            steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
            CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "describing a matrix");
    addresses[i] = matrices.address;
  }
}
