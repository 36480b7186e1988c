// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of a GEMM, for vector units and for tile units.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_KERNELS_GEMMKERNELS_H
#define INGOT_RUNTIME_CPU_GEMM_KERNELS_GEMMKERNELS_H

#include "runtime/cpu/plan/Blocking.h"
#include "runtime/cpu/vectors/HalfPrecision.h"

#include <cstdint>

namespace ingot::runtime::gemm {

/// Bytes of an element of an operand, whose type is INGOT_F32, INGOT_BF16 or
/// INGOT_F16.
constexpr int64_t getElementBytes(int32_t type) {
  return type == INGOT_F32 ? 4 : 2;
}

struct Kernels;

/// A matrix that is decoded while it is packed (runtime/cpu/DecodedMatmul.cpp).
struct EncodedOperand {
  /// Packs what Kernels::packB would; `first` is the number of the first
  /// element.
  void (*pack)(const EncodedOperand &operand, const Kernels &kernels,
               int64_t first, int64_t innerStride, int64_t columnStride,
               int64_t size, int64_t columns, char *packed);
};

/// Elements of an operand. Packing widens them to f32, which is exact.
struct Elements {
  const void *data;
  int32_t type;
  /// Where elements are encoded: there is no `data` then, and they begin with
  /// element number `first`. Only right operands are.
  const EncodedOperand *encoded = nullptr;
  int64_t first = 0;

  Elements operator+(int64_t count) const;
};

/// The lines of a matrix that a vector is multiplied by at once, and the most
/// that are, where elements of many lines are contiguous.
inline constexpr int64_t kGemvLines = 16, kGemvMostLines = 2048;

/// Lines that are prefetched while a tile is multiplied: all at once, they
/// would occupy the buffers that the panels are loaded through.
struct Fetches {
  /// The first row.
  const char *first = nullptr;
  /// Rows of up to two cache lines, and the offset of the last byte of a row.
  int64_t rows = 0, stride = 0, last = 0;
  /// The tile of c that is multiplied next, or null.
  const float *tile = nullptr;
};

/// Prefetches rows of `fetches`, as many at a time as make all of them `times`
/// times.
class FetchRows {
public:
  __attribute__((always_inline)) FetchRows(const Fetches &fetches,
                                           int64_t times)
      : fetches(fetches), first(fetches.first), left(fetches.rows),
        each((fetches.rows + times - 1) / times) {}

  __attribute__((always_inline)) void fetchNext() {
    for (int64_t i = 0; i < each && left > 0; ++i, --left) {
      __builtin_prefetch(first);
      __builtin_prefetch(first + fetches.last);
      first += fetches.stride;
    }
  }

private:
  const Fetches &fetches;
  const char *first;
  int64_t left, each;
};

/// The kernels of one kind of unit, with the blocking that they are made for.
struct Kernels : cpu::GemmBlocking {
  /// Whether sums are one chain along the inner dimension, so that its blocks
  /// can have any size, in multiples of `depth`. Otherwise the sums of blocks
  /// of `inner` are accumulated separately and then added.
  bool isChain;
  /// The inner extent of the part of a panel of a that stays in the L1 cache.
  int64_t depth;
  /// Packs `rows` x `size` elements of a, as panels of tileRows one after the
  /// other, padded with zeros; without a packStep, one panel at most. Packed
  /// memory is aligned to 64 bytes. Kernels for 16-bit types take f32 as well,
  /// which they round to the nearest sum of an element's parts.
  void (*packA)(Elements a, int64_t rowStride, int64_t innerStride,
                int64_t rows, int64_t size, char *packed);
  /// Packs `size` x `columns` elements of b, as panels of tileColumns one after
  /// the other, padded with zeros.
  void (*packB)(Elements b, int64_t innerStride, int64_t columnStride,
                int64_t size, int64_t columns, char *packed);
  /// Calls packB, or decodes elements for it.
  void packRight(Elements b, int64_t innerStride, int64_t columnStride,
                 int64_t size, int64_t columns, char *packed) const {
    if (b.encoded)
      b.encoded->pack(*b.encoded, *this, b.first, innerStride, columnStride,
                      size, columns, packed);
    else
      packB(b, innerStride, columnStride, size, columns, packed);
  }
  /// Writes the product of a panel of a and a panel of b to `rows` x `columns`
  /// elements of c, or adds it if `adds`. Kernels with a packStep prefetch
  /// `fetches` meanwhile.
  void (*multiplyTile)(int64_t size, const char *a, const char *b, float *c,
                       int64_t rowStride, int64_t rows, int64_t columns,
                       bool adds, const Fetches &fetches);
  /// Multiplies up to kGemvMostLines lines of a matrix by a contiguous vector
  /// of `size` elements, at most getMostInner(), or adds the products to `sums`
  /// if `adds`, in the order of multiplyTile; of the strides of a line and of
  /// its elements one is 1. Null where the order is that of tile units.
  void (*multiplyVector)(Elements matrix, int64_t lineStride,
                         int64_t innerStride, int64_t lines, Elements vector,
                         int64_t size, float *sums, bool adds);
  /// Rounds sums to a 16-bit type, to nearest even; numbers that are subnormal
  /// in bf16 may become zero.
  void (*round)(const float *sums, int32_t type, uint16_t *to, int64_t count);
  /// Every thread calls these before its first tile and after its last.
  void (*begin)();
  void (*end)();
};

/// The kernels for vector units, which multiply in f32: the widest build that
/// the CPU runs.
const Kernels &getVectorKernels();

/// Returns the kernels with one level of Strassen's algorithm: seven products
/// of halves of the operands for eight, whose rounding errors are two to three
/// times as large. An element's error depends on elements of neighbouring rows
/// and columns, and what is not finite spreads to them.
const Kernels &getStrassenKernels();

/// Completes the kernels of a build.
constexpr Kernels
makeVectorKernels(const cpu::GemmBlocking &blocking,
                  decltype(Kernels::packA) packA,
                  decltype(Kernels::packB) packB,
                  decltype(Kernels::multiplyTile) multiplyTile,
                  decltype(Kernels::multiplyVector) multiplyVector) {
  auto nothing = [] {};
  auto round = [](const float *sums, int32_t type, uint16_t *to,
                  int64_t count) { roundFromF32(sums, to, type, count); };
  return {blocking,
          /*isChain=*/false,
          /*depth=*/blocking.inner,
          packA,
          packB,
          multiplyTile,
          multiplyVector,
          round,
          /*begin=*/nothing,
          /*end=*/nothing};
}

extern const Kernels genericKernels, genericStrassenKernels;
#ifdef __x86_64__
extern const Kernels avx2Kernels, avx512Kernels;
extern const Kernels avx2StrassenKernels, avx512StrassenKernels;
/// For operands in bf16 on CPUs with AVX512-BF16, which add the products of two
/// pairs of elements to a sum in f32 at once; numbers that are subnormal in f32
/// count as zero.
extern const Kernels dotKernels;
#endif

/// Whether this CPU has AVX512-BF16.
bool multipliesBf16();

/// The kernels for AMX, whose units multiply bf16 and accumulate in f32, for
/// operands of `type`. An element in f16 is the sum of two numbers in bf16, and
/// a product is the sum of all four products of these; an element in f32 is the
/// sum of three (bf16x3), and a product is the sum of the six largest products.
/// The rest is at most 2^-21 of a product and has either sign, which is about
/// as much as one rounding in f32, of which there are fewer than in a chain of
/// multiply-adds (Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial
/// Intelligence Datatype For Higher-Precision Computations", 2019). Numbers in
/// f32 below 2^-110 lose digits, and infinity times a number is NaN.
const Kernels &getTileKernels(int32_t type);

} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_KERNELS_GEMMKERNELS_H
