//===----------------------------------------------------------------------===//
//
// The innermost loops of a product, with AVX-512.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_KERNELS_H
#define INGOT_RUNTIME_CPU_GEMM_KERNELS_H

#include <cstdint>

namespace ingot::runtime::gemm {

/// Elements of an operand, of INGOT_F32, INGOT_BF16 or INGOT_F16: what packs
/// read is widened to f32, which is exact.
struct Elements {
  const void *data;
  int32_t type;

  Elements operator+(int64_t count) const;
};

/// A tile of the result: 24 vector registers of accumulators.
inline constexpr int64_t kTileRows = 12, kTileColumns = 32;
/// A panel of a, kTileRows x kInner, stays in the L1 cache; a block of b,
/// kInner x kColumns, in the L2 cache.
inline constexpr int64_t kInner = 384, kColumns = 480;

/// Packs `rows` (at most kTileRows) x `size` elements of a, column by column
/// of kTileRows elements, filled up with zeros.
void packA(Elements a, int64_t rowStride, int64_t innerStride, int64_t rows,
           int64_t size, float *packed);

/// Packs `size` x `columns` elements of b: panels of kTileColumns, row by row,
/// filled up with zeros.
void packB(Elements b, int64_t innerStride, int64_t columnStride, int64_t size,
           int64_t columns, float *packed);

/// The product of a panel of a and one of b goes to `rows` x `columns` elements
/// of c, or is added to them.
void multiplyTile(int64_t size, const float *a, const float *b, float *c,
                  int64_t rowStride, int64_t rows, int64_t columns, bool adds);

} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_KERNELS_H
