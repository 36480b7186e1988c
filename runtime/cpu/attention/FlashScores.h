// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The scores of a block of queries with a block of keys: which of them count,
// and products with them.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHSCORES_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHSCORES_H

#include "runtime/cpu/attention/FlashDropout.h"

namespace ingot::runtime::flash {
namespace {

/// The scores of a block of queries with a block of keys.
struct ScoreBlock {
  const AttentionShape &s;
  /// Rows of a strip, for all of which the same columns are computed, from a
  /// multiple of `grain` to another.
  int64_t strip, grain;
  int64_t batch, head, q0, queries, k0, keys;

  /// Draws the dropout factors of the weights of one query into `room`, which
  /// holds a row; returns null without dropout.
  const float *drawRow(int64_t query, Range columns, float *room) const {
    if (s.dropout.scale == 0 || columns.isEmpty())
      return nullptr;
    int64_t row = (batch * s.heads + head) * s.queries + q0 + query;
    drawFactors(s.dropout, row * s.keys + k0, columns, room);
    return room;
  }

  /// The keys of the block that some query in [first, last) may attend to by
  /// the bounds, whatever mask and bias say.
  Range keysOf(int64_t first, int64_t last) const {
    int64_t from = q0 + first - s.left - k0, to = q0 + last + s.right - k0;
    return {s.left < 0 ? 0 : larger(0, from),
            s.right < 0 ? keys : smaller(keys, to)};
  }
  /// The keys that some query of the strip from `first` on may attend to.
  Range keysOfStrip(int64_t first) const {
    return keysOf(first, smaller(first + strip, queries));
  }
  /// The columns that are computed for the strip.
  Range columnsOf(int64_t first) const {
    Range range = keysOfStrip(first);
    if (range.isEmpty())
      return {0, 0};
    return {range.begin / grain * grain, abi::alignTo(range.end, grain)};
  }
  /// The part of the strip's columns, in whole vectors, that holds all keys
  /// that one query may attend to.
  Range vectorsOf(int64_t query, Range columns) const {
    Range visible = keysOf(query, query + 1);
    int64_t begin = larger(columns.begin, visible.begin / kLanes * kLanes);
    int64_t end = smaller(columns.end, abi::alignTo(visible.end, kLanes));
    return visible.isEmpty() ? Range{columns.begin, columns.begin}
                             : Range{begin, end};
  }
  /// The queries that may attend to some key of the strip from `first` on.
  Range queriesOf(int64_t first) const {
    int64_t last = smaller(first + strip, keys);
    int64_t from = k0 + first - s.right - q0, to = k0 + last + s.left - q0;
    return {s.right < 0 ? 0 : larger(0, from),
            s.left < 0 ? queries : smaller(queries, to)};
  }

  /// c = a b in the columns that columnsOf gives; a has `size` columns.
  void multiplyColumns(int64_t size, const float *a, int64_t lda,
                       const float *b, float *c) const {
    for (int64_t w = 0; w < kKeyBlock; w += kStripColumns)
      for (int64_t r = 0; r < queries; r += strip)
        multiplyPanel(smaller(strip, queries - r), size, a + r * lda, lda,
                      b + w, kKeyBlock, w, columnsOf(r), c + r * kKeyBlock,
                      kKeyBlock);
  }
  /// Multiplies a strip by the panel b, whose first column is `first`: computes
  /// those of `columns` that are in the panel, if any.
  static void multiplyPanel(int64_t rows, int64_t size, const float *a,
                            int64_t lda, const float *b, int64_t ldb,
                            int64_t first, Range columns, float *c,
                            int64_t ldc) {
    int64_t begin = larger(columns.begin, first);
    int64_t end = smaller(columns.end, first + kStripColumns);
    b += begin - first;
    c += begin;
    auto run = [&](auto vectors) {
      multiplyRows<vectors, false>(rows, size, a, lda, b, ldb, c, ldc, false);
    };
    int64_t count = (end - begin) / kLanes;
    if (count == kStripVectors)
      return run(Constant<kStripVectors>());
    if constexpr (kStripVectors == 4) {
      if (count == 3)
        return run(Constant<3>());
      if (count == 2)
        return run(Constant<2>());
    }
    if (count == 1)
      run(Constant<1>());
  }

  /// Computes the same on tile units.
  void multiplyColumns(const TileUnits &units, int64_t size, const char *a,
                       const char *b, float *c) const {
    for (int64_t r = 0; r < queries; r += strip) {
      Range columns = columnsOf(r);
      for (int64_t w = columns.begin; w < columns.end; w += kTileColumns)
        units.multiply(smaller(strip, queries - r), kTileColumns, {0, size},
                       a + units.offset(r, size), b + units.offset(w, size),
                       size, c + r * kKeyBlock + w, kKeyBlock, false);
    }
  }

  /// Whether scores are products times a positive number, where visible.
  bool isPlain() const {
    return !s.bias.data && !s.mask.data && s.dropout.scale == 0 && s.scale > 0;
  }
  /// Makes the products in the vector at column j -infinity where the query may
  /// not attend.
  void hide(int64_t query, int64_t j, float *products) const {
    Vector x = load(products + j);
    Integers shown = insideOf(keysOf(query, query + 1), j);
    store(products + j, shown ? x : Vector{} - kInfinity);
  }

  /// Calls `use(column, scores)` for each vector of the columns of one query.
  /// Scores are the products, scaled and biased, in units of log(2); -infinity
  /// where the query may not attend.
  template <typename Use>
  inline void forEachVector(int64_t query, Range columns, const float *products,
                            Use use) const {
    Range visible = keysOf(query, query + 1);
    const float *bias =
        s.bias.data ? s.bias.at(batch, head, q0 + query) + k0 : nullptr;
    const unsigned char *mask =
        s.mask.data ? s.mask.at(batch, head, q0 + query) + k0 : nullptr;
    for (int64_t j = columns.begin; j < columns.end; j += kLanes) {
      Vector x = load(products + j) * (s.scale * kLog2E);
      if (bias || mask)
        x = applyBiasAndMask(x, bias, mask, j);
      if (j < visible.begin || j + kLanes > visible.end)
        x = insideOf(visible, j) ? x : Vector{} - kInfinity;
      use(j, x);
    }
  }

  /// c = weights b, or c += weights b if `adds`, over the keys that some query
  /// may attend to; b and c have `width` columns. `packed` has room for a
  /// strip.
  void multiplyByKeys(const TileUnits &units, const float *weights,
                      const char *b, int64_t width, char *packed, float *c,
                      bool adds) const {
    for (int64_t r = 0; r < queries; r += strip) {
      Range columns = columnsOf(r);
      if (columns.isEmpty() && adds)
        continue;
      int64_t rows = smaller(strip, queries - r);
      units.packLeft(rows, columns.end - columns.begin,
                     {weights + r * kKeyBlock + columns.begin, INGOT_F32},
                     kKeyBlock, 1, packed);
      units.multiply(rows, width, columns, packed, b, keys, c + r * width,
                     width, adds);
    }
  }

  /// c += weights^T b over the queries that may attend to some key.
  void multiplyByQueries(const TileUnits &units, const float *weights,
                         const char *b, int64_t width, char *packed,
                         float *c) const {
    for (int64_t r = 0; r < keys; r += strip) {
      Range range = queriesOf(r);
      range.begin = range.begin / kTileColumns * kTileColumns;
      if (range.isEmpty())
        continue;
      int64_t rows = smaller(strip, keys - r);
      units.packLeft(rows, range.end - range.begin,
                     {weights + range.begin * kKeyBlock + r, INGOT_F32}, 1,
                     kKeyBlock, packed);
      units.multiply(rows, width, range, packed, b, queries, c + r * width,
                     width, true);
    }
  }

private:
  /// Which lanes of the vector at column j are in a range.
  static Integers insideOf(Range range, int64_t j) {
    Integers at = indices() + static_cast<int>(j);
    return (at >= static_cast<int>(range.begin)) &
           (at < static_cast<int>(range.end));
  }
  static Integers indices() {
    Integers at;
    for (int l = 0; l < INGOT_LANES; ++l)
      at[l] = l;
    return at;
  }

  Vector applyBiasAndMask(Vector x, const float *bias,
                          const unsigned char *mask, int64_t j) const {
    int64_t count = smaller(kLanes, keys - j);
    if (bias) {
      Vector add{};
      if (count == kLanes)
        add = load(bias + j);
      else
        for (int64_t l = 0; l < count; ++l)
          add[l] = bias[j + l];
      x += add * kLog2E;
    }
    if (mask) {
      Bytes bytes{};
      if (count == kLanes)
        bytes = *reinterpret_cast<const Bytes *>(mask + j);
      else
        for (int64_t l = 0; l < count; ++l)
          bytes[l] = static_cast<char>(mask[j + l]);
      Integers shown = __builtin_convertvector(bytes, Integers);
      x = shown != 0 ? x : Vector{} - kInfinity;
    }
    return x;
  }
};

/// The range from the start of the first block of [0, extent) that holds part
/// of [begin, end) to the end of the last.
Range blocksOf(int64_t begin, int64_t end, int64_t extent, int64_t block) {
  begin = larger(0, begin);
  end = smaller(extent, end);
  if (end <= begin)
    return {0, 0};
  return {begin / block * block, end};
}
/// The blocks of the first `keys` keys that some query in [begin, end) may
/// attend to.
Range keyBlocksOf(const AttentionShape &s, int64_t keys, int64_t begin,
                  int64_t end, int64_t block) {
  return blocksOf(s.left < 0 ? 0 : begin - s.left,
                  s.right < 0 ? keys : end + s.right, keys, block);
}
/// The blocks of queries that may attend to some key in [begin, end).
Range queryBlocksOf(const AttentionShape &s, int64_t begin, int64_t end) {
  return blocksOf(s.right < 0 ? 0 : begin - s.right,
                  s.left < 0 ? s.queries : end + s.left, s.queries,
                  kQueryBlock);
}

/// Which block of which head a kernel works on.
struct BlockPosition {
  int64_t batch, head, begin, end;
  BlockPosition(int64_t task, int64_t heads, int64_t extent, int64_t block) {
    int64_t blocks = abi::divideCeil(extent, block);
    begin = task % blocks * block;
    end = smaller(begin + block, extent);
    head = task / blocks % heads;
    batch = task / blocks / heads;
  }
};

/// The rows of a head from `first` on.
template <typename Byte>
TypedRows<Byte> rowsOf(const Operands &o, const HeadsView<Byte> &view,
                       int64_t batch, int64_t head, int64_t first) {
  return {view.at(batch, head, first), view.rowStride, o.shape.type};
}

/// The rows of a strip of the units that multiply.
int64_t stripOf(const Operands &o) {
  return o.tiles ? o.tiles->tileRows : kStripRows;
}
/// The columns that the units multiply at least.
int64_t grainOf(const Operands &o) { return o.tiles ? kTileColumns : kLanes; }

} // namespace
} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHSCORES_H
