// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Products and copies of tiles of attention's operands.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHTILES_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHTILES_H

#include "runtime/cpu/attention/FlashVectors.h"

namespace ingot::runtime::flash {
namespace {

//===----------------------------------------------------------------------===//
// Products of tiles on vector units
//===----------------------------------------------------------------------===//

/// Rows of a strip of queries, or keys, that is finished at once.
constexpr int64_t kStripRows = kTileRows;
/// Vectors of the widest tile of a product. It loads few elements of the left
/// operand, each of which takes an instruction.
constexpr int kStripVectors = kLanes == 16 ? 4 : 2;
constexpr int64_t kStripColumns = kStripVectors * kLanes;
static_assert(kKeyBlock % kStripColumns == 0 &&
                  kForwardKeys % kStripColumns == 0,
              "panels of keys are whole tiles");

/// Rows of a tile of `vectors` vectors, whose sums stay in registers.
constexpr int getTileRows(int vectors) {
  return vectors > 2 ? kTileRows * 2 / vectors : kTileRows;
}

/// c = a b, or c += a b if `adds`, for a tile of `Rows` rows and `Vectors`
/// vectors of columns of c: element (row, inner) of a is at row * lda + inner,
/// or, by columns, at row + inner * lda. A distance that is a Constant needs no
/// registers for addresses.
template <int Rows, int Vectors, bool ByColumns, typename Distance>
inline void multiplyTile(int64_t depth, const float *a, Distance lda,
                         const float *b, int64_t ldb, float *c, int64_t ldc,
                         bool adds) {
  Vector sum[Rows][Vectors];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = adds ? load(c + r * ldc + v * kLanes) : Vector{};
  // With AVX2, whose vectors are short, instructions for addresses and the loop
  // count: an iteration takes two inner elements, and the address of each row
  // stays in a register. Longer and shorter vectors gain nothing from it.
  constexpr bool isUnrolled = kLanes == 8;
  constexpr bool keepsRows =
      isUnrolled && !ByColumns && std::is_same_v<Distance, int64_t>;
  const float *rows[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    rows[r] = a + r * lda;
    if constexpr (keepsRows)
      asm("" : "+r"(rows[r]));
  }
#pragma unroll isUnrolled ? 2 : 1
  for (int64_t i = 0; i < depth; ++i) {
    Vector right[Vectors];
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      right[v] = load(b + i * ldb + v * kLanes);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      float left = ByColumns   ? a[i * lda + r]
                   : keepsRows ? rows[r][i]
                               : a[r * lda + i];
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
        sum[r][v] += left * right[v];
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      store(c + r * ldc + v * kLanes, sum[r][v]);
}

/// Multiplies any number of rows.
template <int Vectors, bool ByColumns, typename Distance>
void multiplyRows(int64_t rows, int64_t depth, const float *a, Distance lda,
                  const float *b, int64_t ldb, float *c, int64_t ldc,
                  bool adds) {
  constexpr int most = getTileRows(Vectors);
  if (rows == most)
    return multiplyTile<most, Vectors, ByColumns>(depth, a, lda, b, ldb, c, ldc,
                                                  adds);
  int64_t r = 0;
  auto run = [&](auto count) {
    for (; r + count <= rows; r += count)
      multiplyTile<count, Vectors, ByColumns>(
          depth, a + (ByColumns ? r : r * lda), lda, b, ldb, c + r * ldc, ldc,
          adds);
  };
  run(Constant<most>());
  run(Constant<4>());
  run(Constant<1>());
}

struct Range {
  int64_t begin, end;
  bool isEmpty() const { return end <= begin; }
};

/// Calls `run(first, vectors)` for the tiles of `width` columns, a multiple of
/// kTileColumns.
template <typename Run> inline void forEachTile(int64_t width, Run run) {
  int64_t w = 0;
  for (; w + kStripColumns <= width; w += kStripColumns)
    run(w, Constant<kStripVectors>());
  if constexpr (kStripColumns > kTileColumns)
    for (; w < width; w += kTileColumns)
      run(w, Constant<kTileColumns / kLanes>());
}

/// c = a b, or c += a b if `adds`, for `rows` rows and `width` columns, a
/// multiple of kTileColumns. `depthOf(first)` is the range of inner indices
/// that contribute to the strip of rows that starts at `first`.
template <bool ByColumns, typename Distance, typename DepthOf>
inline void multiply(int64_t rows, int64_t width, const float *a, Distance lda,
                     const float *b, int64_t ldb, float *c, int64_t ldc,
                     bool adds, DepthOf depthOf) {
  forEachTile(width, [&](int64_t w, auto vectors) {
    for (int64_t r = 0; r < rows; r += kStripRows) {
      Range depth = depthOf(r);
      if (depth.isEmpty() && adds)
        continue;
      if (depth.isEmpty())
        depth = {0, 0};
      multiplyRows<vectors, ByColumns>(
          smaller(kStripRows, rows - r), depth.end - depth.begin,
          a + (ByColumns ? depth.begin * lda + r : r * lda + depth.begin), lda,
          b + depth.begin * ldb + w, ldb, c + r * ldc + w, ldc, adds);
    }
  });
}

//===----------------------------------------------------------------------===//
// Products of tiles on tile units (AMX)
//===----------------------------------------------------------------------===//

/// Packs operands for tile units, and multiplies them there.
struct TileUnits {
  const gemm::Kernels &kernels;

  /// The offset in bytes of line `line` of an operand of `depth` elements a
  /// line.
  int64_t offset(int64_t line, int64_t depth) const {
    return line * kernels.getLineBytes(depth);
  }
  /// Packs a left operand, whose element (row, inner) is at row * rowStride +
  /// inner * innerStride.
  void packLeft(int64_t rows, int64_t depth, gemm::Elements from,
                int64_t rowStride, int64_t innerStride, char *to) const {
    for (int64_t r = 0; r < rows; r += kernels.tileRows)
      kernels.packA(from + r * rowStride, rowStride, innerStride,
                    smaller(kernels.tileRows, rows - r), depth,
                    to + offset(r, depth));
  }
  /// Packs a right operand, whose element (inner, column) is at inner *
  /// innerStride + column * columnStride.
  void packRight(int64_t depth, int64_t columns, gemm::Elements from,
                 int64_t innerStride, int64_t columnStride, char *to) const {
    kernels.packB(from, innerStride, columnStride, depth, columns, to);
  }
  /// c = a b, or c += a b if `adds`, for the rows of one tile and `width`
  /// columns, a multiple of a tile's. The inner dimension runs over `range`,
  /// which starts at a step of the units: lines of a hold the range only, lines
  /// of b all `depth` elements.
  void multiply(int64_t rows, int64_t width, Range range, const char *a,
                const char *b, int64_t depth, float *c, int64_t ldc,
                bool adds) const {
    const char *first = b + offset(kernels.tileColumns, range.begin);
    for (int64_t w = 0; w < width; w += kernels.tileColumns)
      kernels.multiplyTile(range.end - range.begin, a, first + offset(w, depth),
                           c + w, ldc, rows, kernels.tileColumns, adds,
                           /*fetches=*/{});
  }
};

//===----------------------------------------------------------------------===//
// Packing for vector units, and copies of rows
//===----------------------------------------------------------------------===//

/// The rows of one head, `stride` bytes apart.
template <typename Byte> struct TypedRows {
  Byte *data;
  int64_t stride;
  int32_t type;

  Byte *at(int64_t row) const { return data + row * stride; }
  TypedRows from(int64_t row) const { return {at(row), stride, type}; }
  /// Prefetches a row of `size` elements: processors do not foresee the next
  /// row.
  void prefetch(int64_t row, int64_t size) const {
    constexpr int64_t line = 64;
    const char *from = at(row);
    for (int64_t i = 0; i < size * gemm::getElementBytes(type); i += line)
      __builtin_prefetch(from + i);
  }
  /// The rows as an operand to pack.
  gemm::Elements elements() const { return {data, type}; }
  int64_t elementStride() const { return stride / gemm::getElementBytes(type); }
};

/// Whether products read rows where they are: rows of a strip, or of a panel,
/// must not fall into the same cache sets.
bool isReadInPlace(const TypedRows<const char> &rows) {
  constexpr int64_t conflict = 2048;
  return rows.type == INGOT_F32 && rows.stride % conflict != 0;
}

/// Returns `count` elements of a row from `first` on as f32: in place, or
/// converted into `room`.
inline const float *widenRow(const TypedRows<const char> &rows, int64_t row,
                             int64_t first, int64_t count, float *room) {
  if (rows.type == INGOT_F32)
    return reinterpret_cast<const float *>(rows.at(row)) + first;
  widenToF32(rows.at(row) + first * 2, rows.type, room, count);
  return room;
}

/// Returns a vector of elements of `Type` as f32.
template <int Type> inline Vector loadElements(const char *from) {
  if constexpr (Type == INGOT_F32)
    return load(reinterpret_cast<const float *>(from));
  else if constexpr (Type == INGOT_BF16)
    return widenBf16(*reinterpret_cast<const HalfWords *>(from));
  else
    return widenF16(*reinterpret_cast<const HalfWords *>(from));
}
/// Calls the function with the type as a constant.
template <typename Function>
inline void visitType(int32_t type, Function function) {
  if (type == INGOT_F32)
    function(Constant<INGOT_F32>());
  else if (type == INGOT_BF16)
    function(Constant<INGOT_BF16>());
  else
    function(Constant<INGOT_F16>());
}

/// Writes rows of sums, which are `ld` elements apart, in the type of `to`.
void writeRows(int64_t count, int64_t columns, const float *sums, int64_t ld,
               const TypedRows<char> &to) {
  for (int64_t r = 0; r < count; ++r) {
    const float *from = sums + r * ld;
    if (to.type != INGOT_F32) {
      roundFromF32(from, to.at(r), to.type, columns);
      continue;
    }
    auto *row = reinterpret_cast<float *>(to.at(r));
    for (int64_t c = 0; c < columns; ++c)
      row[c] = from[c];
  }
}

/// Copies `size` elements of a row to f32, and then zeros up to `width`.
template <int Type>
inline void packRow(const TypedRows<const char> &from, int64_t row,
                    int64_t first, int64_t size, int64_t width, float *to) {
  constexpr int64_t bytes = gemm::getElementBytes(Type);
  int64_t c = 0;
  for (; c + kLanes <= size; c += kLanes)
    store(to + c, loadElements<Type>(from.at(row) + (first + c) * bytes));
  if (c < size) {
    float room[kLanes];
    const float *rest = widenRow(from, row, first + c, size - c, room);
    for (int64_t l = 0; l < size - c; ++l)
      to[c + l] = rest[l];
  }
  for (c = size; c < width; ++c)
    to[c] = 0;
}

/// Copies rows to f32, with zeros from column `size` to column `ld`.
void pack(int64_t rows, int64_t size, const TypedRows<const char> &from,
          float *to, int64_t ld) {
  visitType(from.type, [&](auto type) {
    for (int64_t r = 0; r < rows; ++r)
      packRow<type>(from, r, 0, size, ld, to + r * ld);
  });
}

/// Copies the transpose of a square of vectors.
template <int Type>
inline void transposeSquare(const TypedRows<const char> &from, int64_t row,
                            int64_t column, float *to, int64_t ld) {
  const char *first = from.at(row) + column * gemm::getElementBytes(Type);
  Vector v[INGOT_LANES];
#pragma unroll
  for (int l = 0; l < INGOT_LANES; ++l)
    v[l] = loadElements<Type>(first + l * from.stride);
  transposeVectors<INGOT_LANES / 2>(v);
#pragma unroll
  for (int l = 0; l < INGOT_LANES; ++l)
    store(to + l * ld, v[l]);
}

/// Copies the transpose of rows to f32: `size` rows of `ld` columns, with zeros
/// from column `rows` on.
void packTransposed(int64_t rows, int64_t size,
                    const TypedRows<const char> &from, float *to, int64_t ld) {
  for (int64_t r = 0; r < ld; r += kLanes)
    for (int64_t c = 0; c < size; c += kLanes) {
      float *square = to + c * ld + r;
      int64_t width = smaller(kLanes, size - c);
      if (r + kLanes <= rows && width == kLanes) {
        visitType(from.type, [&](auto type) {
          transposeSquare<type>(from, r, c, square, ld);
        });
        continue;
      }
      for (int64_t l = 0; l < kLanes; ++l) {
        float room[kLanes] = {};
        const float *row =
            r + l < rows ? widenRow(from, r + l, c, width, room) : room;
        for (int64_t i = 0; i < width; ++i)
          square[i * ld + l] = row[i];
      }
    }
}

} // namespace
} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHTILES_H
