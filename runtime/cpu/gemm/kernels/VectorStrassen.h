// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// One level of Strassen's algorithm ("Gaussian Elimination is not Optimal",
// 1969) in the innermost loops of a GEMM: seven products for eight, an eighth
// of the multiply-adds less. As in "Strassen's Algorithm Reloaded" (Huang,
// Smith, Henry and van de Geijn, 2016), sums of parts of the operands are made
// while they are packed, and a product goes from registers to the tiles of c
// that it belongs to. Unlike there, the parts are next to each other: the two
// halves of a panel's lines, and of a block's inner extent. So no sum of
// matrices passes through memory, and any size is cut into whole tiles.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORSTRASSEN_H
#define INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORSTRASSEN_H

#include "runtime/cpu/gemm/kernels/VectorGemm.h"

namespace ingot::runtime::gemm {
namespace {

constexpr cpu::GemmBlocking kStrassen = cpu::getStrassenBlocking(kBlocking);

/// A tile of c is four of the tiles that registers hold, and the products:
///
///   1  (a11 + a22) (b11 + b22)  to c11 and c22
///   2  (a21 + a22)  b11         to c21, from c22
///   3   a11        (b12 - b22)  to c12 and c22
///   4   a22        (b21 - b11)  to c11 and c21
///   5  (a11 + a12)  b22         to c12, from c11
///   6  (a21 - a11) (b11 + b12)  to c22
///   7  (a12 - a22) (b21 + b22)  to c11
///
/// A packed panel holds the factors of the seven products one after the other.
constexpr int kProducts = 7;

/// Makes the seven factors of a panel of a, where the places of the third,
/// fourth, sixth and seventh hold a11, a22, a21 and a12.
inline void combineRows(float *packed, int64_t part) {
  float *factor[kProducts];
  for (int p = 0; p < kProducts; ++p)
    factor[p] = packed + p * part;
  auto combine = [&](int64_t i, int64_t count) __attribute__((always_inline)) {
    Vector a11 = loadFirst<F32>(factor[2] + i, count);
    Vector a22 = loadFirst<F32>(factor[3] + i, count);
    Vector a21 = loadFirst<F32>(factor[5] + i, count);
    Vector a12 = loadFirst<F32>(factor[6] + i, count);
    storeFirst(factor[0] + i, a11 + a22, count);
    storeFirst(factor[1] + i, a21 + a22, count);
    storeFirst(factor[4] + i, a11 + a12, count);
    storeFirst(factor[5] + i, a21 - a11, count);
    storeFirst(factor[6] + i, a12 - a22, count);
  };
  int64_t i = 0;
  for (; i + kLanes <= part; i += kLanes)
    combine(i, kLanes);
  if (i < part)
    combine(i, part - i);
}

void packStrassenA(Elements a, int64_t rowStride, int64_t innerStride,
                   int64_t rows, int64_t size, char *packed) {
  int64_t half = (size + 1) / 2, part = kTileRows * half;
  int64_t upper = smaller(rows, kTileRows);
  auto pack = [&](int factor, int64_t row, int64_t start) {
    int64_t count = smaller(half, size - start);
    char *to = packed + factor * part * int64_t(sizeof(float));
    packA(a + row * rowStride + start * innerStride, rowStride, innerStride,
          row == 0 ? upper : rows - upper, count, to);
    for (int64_t i = count * kTileRows; i < part; ++i)
      reinterpret_cast<float *>(to)[i] = 0;
  };
  pack(2, 0, 0);
  pack(6, 0, half);
  pack(5, kTileRows, 0);
  pack(3, kTileRows, half);
  combineRows(reinterpret_cast<float *>(packed), part);
}

template <typename Type>
void packStrassenColumns(const typename Type::Element *b, int64_t innerStride,
                         int64_t columnStride, int64_t size, int64_t columns,
                         float *packed) {
  int64_t half = (size + 1) / 2, part = kTileColumns * half;
  auto combine = [&](float *to, Vector b11, Vector b12, Vector b21, Vector b22)
                     __attribute__((always_inline)) {
                       store(to, b11 + b22);
                       store(to + part, b11);
                       store(to + 2 * part, b12 - b22);
                       store(to + 3 * part, b21 - b11);
                       store(to + 4 * part, b22);
                       store(to + 5 * part, b11 + b12);
                       store(to + 6 * part, b21 + b22);
                     };
  if (columnStride == 1) {
    // Along the rows, which are contiguous.
    for (int64_t i = 0; i < half; ++i) {
      const typename Type::Element *upper = b + i * innerStride;
      const typename Type::Element *lower = upper + half * innerStride;
      bool hasLower = half + i < size;
      float *to = packed + i * kTileColumns;
      for (int64_t j = 0; j < columns; j += 2 * kTileColumns) {
        float *panel = to + j / (2 * kTileColumns) * kProducts * part;
        bool isWhole = j + 2 * kTileColumns <= columns;
#pragma unroll
        for (int64_t l = 0; l < 2; ++l) {
          int64_t left = j + l * kLanes, right = left + kTileColumns;
          auto at = [&](const typename Type::Element *row,
                        int64_t column) __attribute__((always_inline)) {
            return isWhole ? Type::loadVector(row + column)
                   : column < columns
                       ? loadFirst<Type>(row + column, columns - column)
                       : Vector{};
          };
          combine(panel + l * kLanes, at(upper, left), at(upper, right),
                  hasLower ? at(lower, left) : Vector{},
                  hasLower ? at(lower, right) : Vector{});
        }
      }
    }
    return;
  }
  for (int64_t j = 0; j < columns; j += 2 * kTileColumns) {
    auto pack = [&](int factor, int64_t column, int64_t start) {
      int64_t count = smaller(half, size - start);
      float *to = packed + factor * part;
      int64_t width = smaller(kTileColumns, columns - j - column);
      if (width > 0)
        packColumns<Type>(b + start * innerStride + (j + column) * columnStride,
                          innerStride, columnStride, count, width, to);
      for (int64_t i = width > 0 ? count * kTileColumns : 0; i < part; ++i)
        to[i] = 0;
    };
    pack(1, 0, 0);
    pack(2, kTileColumns, 0);
    pack(3, 0, half);
    pack(4, kTileColumns, half);
    for (int64_t i = 0; i < part; i += kLanes)
      combine(packed + i, load(packed + part + i), load(packed + 2 * part + i),
              load(packed + 3 * part + i), load(packed + 4 * part + i));
    packed += kProducts * part;
  }
}

void packStrassenB(Elements b, int64_t innerStride, int64_t columnStride,
                   int64_t size, int64_t columns, char *packed) {
  withType(b, [&](auto type, const auto *from) {
    packStrassenColumns<decltype(type)>(from, innerStride, columnStride, size,
                                        columns,
                                        reinterpret_cast<float *>(packed));
  });
}

/// How a product changes a tile of c.
enum class Use { None, Set, Add, Subtract };

template <Use use> inline void useSum(float *to, Vector sum) {
  if constexpr (use == Use::Set)
    store(to, sum);
  if constexpr (use == Use::Add)
    store(to, load(to) + sum);
  if constexpr (use == Use::Subtract)
    store(to, load(to) - sum);
}

/// Multiplies the factors of a product, and takes it to one or two tiles.
template <Use first, Use second>
inline void multiplyFactors(int64_t size, const float *__restrict a,
                            const float *__restrict b, float *__restrict c,
                            float *__restrict other, int64_t rowStride) {
  Vector sum[kTileRows][2];
  sumProducts(size, a, b, sum, [&](int64_t i) __attribute__((always_inline)) {
    prefetchRow(c + i * rowStride);
    if constexpr (second != Use::None)
      prefetchRow(other + i * rowStride);
  });
#pragma unroll
  for (int i = 0; i < kTileRows; ++i)
#pragma unroll
    for (int l = 0; l < 2; ++l) {
      int64_t at = i * rowStride + l * kLanes;
      useSum<first>(c + at, sum[i][l]);
      useSum<second>(other + at, sum[i][l]);
    }
}

template <bool adds>
inline void multiplyParts(int64_t size, const char *panelA, const char *panelB,
                          float *c11, int64_t rowStride) {
  int64_t half = (size + 1) / 2;
  auto a = [&](int p) {
    return reinterpret_cast<const float *>(panelA) + p * kTileRows * half;
  };
  auto b = [&](int p) {
    return reinterpret_cast<const float *>(panelB) + p * kTileColumns * half;
  };
  float *c12 = c11 + kTileColumns, *c21 = c11 + kTileRows * rowStride;
  float *c22 = c21 + kTileColumns;
  constexpr Use begin = adds ? Use::Add : Use::Set;
  constexpr Use add = Use::Add, subtract = Use::Subtract, none = Use::None;
  multiplyFactors<begin, begin>(half, a(0), b(0), c11, c22, rowStride);
  multiplyFactors<begin, subtract>(half, a(1), b(1), c21, c22, rowStride);
  multiplyFactors<begin, add>(half, a(2), b(2), c12, c22, rowStride);
  multiplyFactors<add, add>(half, a(3), b(3), c11, c21, rowStride);
  multiplyFactors<add, subtract>(half, a(4), b(4), c12, c11, rowStride);
  multiplyFactors<add, none>(half, a(5), b(5), c22, c22, rowStride);
  multiplyFactors<add, none>(half, a(6), b(6), c11, c11, rowStride);
}

void multiplyStrassen(int64_t size, const char *panelA, const char *panelB,
                      float *c, int64_t rowStride, int64_t rows,
                      int64_t columns, bool adds, const Fetches &) {
  constexpr int64_t height = 2 * kTileRows, width = 2 * kTileColumns;
  if (rows == height && columns == width)
    return adds ? multiplyParts<true>(size, panelA, panelB, c, rowStride)
                : multiplyParts<false>(size, panelA, panelB, c, rowStride);
  // The last tiles of a row or a column.
  alignas(64) float room[height * width];
  multiplyParts<false>(size, panelA, panelB, room, width);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float &to = c[i * rowStride + j];
      to = adds ? to + room[i * width + j] : room[i * width + j];
    }
}

} // namespace
} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORSTRASSEN_H
