// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The innermost loops of a GEMM for vector units.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORGEMM_H
#define INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORGEMM_H

#include "runtime/cpu/gemm/kernels/GemmKernels.h"
#include "runtime/cpu/gemm/kernels/VectorTile.h"

namespace ingot::runtime::gemm {
using namespace vectors;
namespace {

//===----------------------------------------------------------------------===//
// Elements of operands as f32
//===----------------------------------------------------------------------===//

struct F32 {
  using Element = float;
  static Vector loadVector(const float *from) { return load(from); }
};
struct Bf16 {
  using Element = uint16_t;
  static Vector loadVector(const uint16_t *from) {
    return widenBf16(*reinterpret_cast<const HalfWords *>(from));
  }
};
struct F16 {
  using Element = uint16_t;
  static Vector loadVector(const uint16_t *from) {
    return widenF16(*reinterpret_cast<const HalfWords *>(from));
  }
};

/// The first `count` elements as f32, and zeros.
template <typename Type>
inline Vector loadFirst(const typename Type::Element *from, int64_t count) {
  if (count >= kLanes)
    return Type::loadVector(from);
  typename Type::Element room[kLanes] = {};
  for (int64_t l = 0; l < count; ++l)
    room[l] = from[l];
  return Type::loadVector(room);
}

inline void storeFirst(float *to, Vector v, int64_t count) {
  if (count >= kLanes)
    return store(to, v);
  for (int64_t l = 0; l < count; ++l)
    to[l] = v[l];
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// The vectors of packLines: `size` is a multiple of kLanes. With `IsWhole`,
/// the number of lines is known to be the most that there can be.
template <typename Type, int64_t Width, bool IsWhole>
void packVectors(const typename Type::Element *from, int64_t lineStride,
                 int64_t lines, int64_t size, int64_t stored, float *packed) {
  if constexpr (IsWhole)
    lines = stored = Width < kLanes ? Width : kLanes;
  for (int64_t i = 0; i < size; i += kLanes) {
    Vector v[kLanes];
    const typename Type::Element *line = from + i;
    // Otherwise the compiler keeps a pointer to each line, most of them in
    // memory.
    asm("" : "+r"(line));
#pragma unroll
    for (int l = 0; l < kLanes; ++l) {
      v[l] = l < lines ? Type::loadVector(line) : Vector{};
      line += lineStride;
    }
    transposeVectors<kLanes / 2>(v);
    // Where a column is shorter than a vector, the next one overwrites the
    // rest of it; that of the last column belongs to somebody else.
    bool isLast = i + kLanes == size;
#pragma unroll
    for (int l = 0; l < kLanes; ++l) {
      float *to = packed + (i + l) * Width;
      if (stored < kLanes && (Width != stored || (isLast && l + 1 == kLanes)))
        storeFirst(to, v[l], stored);
      else
        store(to, v[l]);
    }
  }
}

/// Packs up to kLanes lines of `size` contiguous elements as columns of
/// `Width`, of which `stored` belong to these lines.
template <typename Type, int64_t Width>
void packLines(const typename Type::Element *from, int64_t lineStride,
               int64_t lines, int64_t size, int64_t stored, float *packed) {
  int64_t i = size / kLanes * kLanes;
  if (lines == (Width < kLanes ? Width : kLanes))
    packVectors<Type, Width, true>(from, lineStride, lines, i, stored, packed);
  else
    packVectors<Type, Width, false>(from, lineStride, lines, i, stored, packed);
  for (; i < size; ++i)
    for (int64_t l = 0; l < stored; ++l)
      packed[i * Width + l] =
          l < lines ? loadFirst<Type>(from + l * lineStride + i, 1)[0] : 0.0f;
}

/// Packs a column of a panel from contiguous elements. If the column
/// `isFollowed` by another one, more than it may be read and written: the next
/// one is written after it.
template <typename Type, bool isFollowed>
inline void packColumn(const typename Type::Element *from, float *to) {
#pragma unroll
  for (int64_t first = 0; first < kTileRows; first += kLanes) {
    int64_t stored = smaller(kLanes, kTileRows - first);
    if constexpr (isFollowed) {
      store(to + first, Type::loadVector(from + first));
    } else {
      typename Type::Element room[kLanes] = {};
      __builtin_memcpy(room, from + first, stored * sizeof(room[0]));
      Vector v = Type::loadVector(room);
      __builtin_memcpy(to + first, &v, stored * sizeof(float));
    }
  }
}

/// Packs `count` whole panels of contiguous rows. One panel has been
/// prefetched, others share cache lines with their neighbours.
template <typename Type>
void packPanels(const typename Type::Element *from, int64_t innerStride,
                int64_t count, int64_t size, float *packed) {
  if (count == 1) {
    for (int64_t i = 0; i + 1 < size; ++i) {
      packColumn<Type, true>(from, packed);
      from += innerStride;
      packed += kTileRows;
    }
    return packColumn<Type, false>(from, packed);
  }
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t panel = 0; panel < count; ++panel) {
      const typename Type::Element *column = from + panel * kTileRows;
      float *to = packed + panel * size * kTileRows;
      __builtin_prefetch(column + 8 * innerStride);
      if (i + 1 < size)
        packColumn<Type, true>(column, to);
      else
        packColumn<Type, false>(column, to);
    }
    from += innerStride;
    packed += kTileRows;
  }
}

template <typename Type>
void packRows(const typename Type::Element *a, int64_t rowStride,
              int64_t innerStride, int64_t rows, int64_t size, float *packed) {
  int64_t whole =
      innerStride != 1 && innerStride >= kLanes ? rows / kTileRows : 0;
  if (whole != 0)
    packPanels<Type>(a, innerStride, whole, size, packed);
  if (whole != 0 && whole * kTileRows == rows)
    return;
  // Without rows, there is a panel of zeros.
  int64_t row = whole * kTileRows;
  do {
    for (int64_t first = 0; first < kTileRows; first += kLanes) {
      int64_t stored = smaller(kLanes, kTileRows - first);
      int64_t lines = smaller(stored, larger(0, rows - row - first));
      const typename Type::Element *from = a + (row + first) * rowStride;
      float *to = packed + row * size + first;
      if (innerStride == 1)
        packLines<Type, kTileRows>(from, rowStride, lines, size, stored, to);
      else
        for (int64_t i = 0; i < size; ++i)
          storeFirst(to + i * kTileRows,
                     loadFirst<Type>(from + i * innerStride, lines), stored);
    }
    row += kTileRows;
  } while (row < rows);
}

template <typename Type>
void packColumns(const typename Type::Element *b, int64_t innerStride,
                 int64_t columnStride, int64_t size, int64_t columns,
                 float *packed) {
  int64_t whole = columns / kTileColumns * kTileColumns;
  if (columnStride == 1) {
    // Copy along the rows, which are contiguous, into all panels.
    for (int64_t i = 0; i < size; ++i) {
      const typename Type::Element *from = b + i * innerStride;
      float *to = packed + i * kTileColumns;
      for (int64_t j = 0; j < whole; j += kTileColumns) {
        store(to + j * size, Type::loadVector(from + j));
        store(to + j * size + kLanes, Type::loadVector(from + j + kLanes));
      }
      if (whole < columns) {
        int64_t rest = columns - whole;
        store(to + whole * size, loadFirst<Type>(from + whole, rest));
        store(to + whole * size + kLanes,
              loadFirst<Type>(from + whole + kLanes, larger(rest - kLanes, 0)));
      }
    }
    return;
  }
  for (int64_t j = 0; j < columns; j += kTileColumns) {
    int64_t count = smaller(kTileColumns, columns - j);
    const typename Type::Element *line = b + j * columnStride;
    packLines<Type, kTileColumns>(line, columnStride, smaller(kLanes, count),
                                  size, kLanes, packed);
    packLines<Type, kTileColumns>(line + kLanes * columnStride, columnStride,
                                  larger(count - kLanes, 0), size, kLanes,
                                  packed + kLanes);
    packed += kTileColumns * size;
  }
}

/// Calls `use` with the type of elements, and with the pointer to them.
template <typename Use> inline void withType(Elements elements, Use use) {
  const auto *halves = static_cast<const uint16_t *>(elements.data);
  if (elements.type == INGOT_F32)
    use(F32(), static_cast<const float *>(elements.data));
  else if (elements.type == INGOT_BF16)
    use(Bf16(), halves);
  else
    use(F16(), halves);
}

void packA(Elements a, int64_t rowStride, int64_t innerStride, int64_t rows,
           int64_t size, char *packed) {
  withType(a, [&](auto type, const auto *from) {
    packRows<decltype(type)>(from, rowStride, innerStride, rows, size,
                             reinterpret_cast<float *>(packed));
  });
}

void packB(Elements b, int64_t innerStride, int64_t columnStride, int64_t size,
           int64_t columns, char *packed) {
  withType(b, [&](auto type, const auto *from) {
    packColumns<decltype(type)>(from, innerStride, columnStride, size, columns,
                                reinterpret_cast<float *>(packed));
  });
}

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

/// Sums the products of the first `Rows` rows of a panel of a, and of the first
/// `Vectors` vectors of a panel of b. `fetchRow` prefetches a row of a tile of
/// c, and what is needed later.
template <int Rows, int Vectors, typename Fetch>
__attribute__((always_inline)) inline void
sumProducts(int64_t size, const float *__restrict a, const float *__restrict b,
            Vector (&sum)[Rows][Vectors], Fetch fetchRow) {
#pragma unroll
  for (int i = 0; i < Rows; ++i)
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      sum[i][v] = Vector{};
  auto multiplyStep = [&]() __attribute__((always_inline)) {
    Vector right[Vectors];
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      right[v] = load(b + v * kLanes);
    // Panels come from the L2 cache: prefetch them.
    __builtin_prefetch(b + 8 * kTileColumns);
    if constexpr (kLanes > 8 && Vectors > 1)
      __builtin_prefetch(b + 8 * kTileColumns + kLanes);
#pragma unroll
    for (int i = 0; i < Rows; ++i)
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
        sum[i][v] += a[i] * right[v];
    a += kTileRows;
    b += kTileColumns;
  };
  // Prefetch the lines of c one row at a time: all at once would delay the
  // loads of b.
  int64_t part = size / Rows;
  for (int64_t i = 0; i < Rows; ++i) {
    fetchRow(i);
    int64_t k = 0;
    for (; k + 4 <= part; k += 4) {
      multiplyStep();
      multiplyStep();
      multiplyStep();
      multiplyStep();
    }
    for (; k < part; ++k)
      multiplyStep();
  }
  for (int64_t k = part * Rows; k < size; ++k)
    multiplyStep();
}

/// Prefetches a row of a tile that is about to be written.
template <int Vectors = 2> inline void prefetchRow(const float *row) {
  __builtin_prefetch(row, 1);
  if constexpr (kLanes > 8 && Vectors > 1)
    __builtin_prefetch(row + kLanes, 1);
}

/// Products that are summed in registers before they are added to an element
/// of c, about: rounding errors grow like the square root of this length, and
/// like that of the number of such parts.
constexpr int64_t kPartialProducts = 128;

/// The number of equal parts of an inner extent.
inline int64_t countParts(int64_t size) {
  return larger(1, (size + kPartialProducts / 2) / kPartialProducts);
}

/// Writes the sums of a tile to its part of c, or adds them to it.
template <int Rows, int Vectors>
__attribute__((always_inline)) inline void
storeTile(const Vector (&sum)[Rows][Vectors], float *__restrict c,
          int64_t rowStride, int64_t rows, int64_t columns, bool adds) {
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    if (i >= rows)
      continue;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      float *to = c + i * rowStride + v * kLanes;
      int64_t count = larger(columns - v * kLanes, 0);
      storeFirst(to, adds ? sum[i][v] + loadFirst<F32>(to, count) : sum[i][v],
                 count);
    }
  }
}

/// Multiplies the first `Rows` rows and `Vectors` vectors of a tile.
template <int Rows, int Vectors>
inline void multiplyRows(int64_t size, const float *__restrict a,
                         const float *__restrict b, float *__restrict c,
                         int64_t rowStride, int64_t rows, int64_t columns,
                         bool adds, const Fetches &fetches) {
  const int64_t parts = countParts(size);
  const float *tile =
      kBlocking.packStep != 0 && fetches.tile ? fetches.tile : c;
  FetchRows next(fetches, Rows * parts);
  for (int64_t part = 0, start = 0; part < parts; ++part) {
    int64_t end = size * (part + 1) / parts;
    Vector sum[Rows][Vectors];
    sumProducts(end - start, a + start * kTileRows, b + start * kTileColumns,
                sum, [&](int64_t i) __attribute__((always_inline)) {
                  if (part == 0)
                    prefetchRow<Vectors>(tile + i * rowStride);
                  if constexpr (kBlocking.packStep != 0)
                    next.fetchNext();
                });
    storeTile(sum, c, rowStride, rows, columns, adds || part != 0);
    start = end;
  }
}

/// Multiplies the first `Rows` rows of a tile. Columns at the end of a matrix
/// may need one vector only.
template <int Rows>
inline void multiplyColumns(int64_t size, const float *__restrict a,
                            const float *__restrict b, float *__restrict c,
                            int64_t rowStride, int64_t rows, int64_t columns,
                            bool adds, const Fetches &fetches) {
  if (columns <= kLanes)
    return multiplyRows<Rows, 1>(size, a, b, c, rowStride, rows, columns, adds,
                                 fetches);
  multiplyRows<Rows, 2>(size, a, b, c, rowStride, rows, columns, adds, fetches);
}

void multiplyTile(int64_t size, const char *panelA, const char *panelB,
                  float *c, int64_t rowStride, int64_t rows, int64_t columns,
                  bool adds, const Fetches &fetches) {
  const auto *a = reinterpret_cast<const float *>(panelA);
  const auto *b = reinterpret_cast<const float *>(panelB);
  // The rows at the end of a matrix, or of a batch, rarely fill a tile.
  if (rows <= kTileRows / 3)
    return multiplyColumns<kTileRows / 3>(size, a, b, c, rowStride, rows,
                                          columns, adds, fetches);
  if (rows <= kTileRows / 3 * 2)
    return multiplyColumns<kTileRows / 3 * 2>(size, a, b, c, rowStride, rows,
                                              columns, adds, fetches);
  multiplyColumns<kTileRows>(size, a, b, c, rowStride, rows, columns, adds,
                             fetches);
}

} // namespace
} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_KERNELS_VECTORGEMM_H
