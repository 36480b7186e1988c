// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The forward pass of attention for a block of queries.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHFORWARD_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHFORWARD_H

#include "runtime/cpu/attention/FlashScores.h"

namespace ingot::runtime::flash {
namespace {

/// The running maximum, in units of log(2), and total of each query of a block.
struct RowStates {
  static_assert(kMostQueries % kLanes == 0);
  float maximum[kMostQueries], total[kMostQueries];

  explicit RowStates(int64_t rows) {
    for (int64_t i = 0; i < rows; i += kLanes) {
      store(maximum + i, Vector{} - kInfinity);
      store(total + i, Vector{});
    }
  }

  /// Raises the maximum of a query to that of further scores, and scales the
  /// sums so far down; returns what to subtract from scores.
  float raise(int64_t row, float top, float *sum, int64_t width) {
    float before = maximum[row];
    if (before >= top)
      top = before;
    // While no key is allowed, any finite maximum makes the weights 0.
    float shift = top == -kInfinity ? 0.0f : top;
    if (top == before)
      return shift;
    maximum[row] = top;
    // The first sums are 0.
    if (before == -kInfinity)
      return shift;
    float factor = exponential2(Vector{} + (before - shift))[0];
    for (int64_t c = 0; c < width; c += kLanes)
      store(sum + c, load(sum + c) * factor);
    total[row] *= factor;
    return shift;
  }
};

/// Turns the products of one query into exponentials relative to the running
/// maximum. Dropped weights count in the total.
void updateRow(const ScoreBlock &scores, int64_t row, Range columns, float *p,
               RowStates &states, float *sum, int64_t width) {
  Range shown = scores.vectorsOf(row, columns);
  Vector most = Vector{} - kInfinity, parts{};
  scores.forEachVector(row, shown, p,
                       [&](int64_t, Vector x) { most = x > most ? x : most; });
  float shift = states.raise(row, maxLanes(most), sum, width);
  float room[kMostKeys];
  const float *factors = scores.drawRow(row, shown, room);
  for (int64_t j = columns.begin; j < shown.begin; j += kLanes)
    store(p + j, Vector{});
  scores.forEachVector(row, shown, p, [&](int64_t j, Vector x) {
    Vector e = exponential2(x - shift);
    store(p + j, factors ? e * load(factors + j) : e);
    parts += e;
  });
  for (int64_t j = shown.end; j < columns.end; j += kLanes)
    store(p + j, Vector{});
  states.total[row] += sumLanes(parts);
}

/// Updates `Rows` queries, from the first on, where scores are products times a
/// positive number: a vector of each in turn, so that none waits for the
/// vectors before.
template <int Rows>
void updatePlainRows(const ScoreBlock &scores, int64_t first, Range columns,
                     float *p, int64_t ldp, RowStates &states, float *sum,
                     int64_t width) {
  // Every query may attend to the keys that the first and the last may.
  Range all = {scores.keysOf(first + Rows - 1, first + Rows).begin,
               scores.keysOf(first, first + 1).end};
  Vector most[Rows], parts[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    most[r] = Vector{} - kInfinity;
    parts[r] = Vector{};
  }
  for (int64_t j = columns.begin; j < columns.end; j += kLanes) {
    if (j < all.begin || j + kLanes > all.end)
      for (int r = 0; r < Rows; ++r)
        scores.hide(first + r, j, p + r * ldp);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      Vector x = load(p + r * ldp + j);
      most[r] = x > most[r] ? x : most[r];
    }
  }
  float factor = scores.s.scale * kLog2E;
  float shift[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
    shift[r] = maxLanes(most[r]) * factor;
  for (int r = 0; r < Rows; ++r)
    shift[r] = states.raise(first + r, shift[r], sum + r * width, width);
  for (int64_t j = columns.begin; j < columns.end; j += kLanes) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      Vector e = exponential2(load(p + r * ldp + j) * factor - shift[r]);
      store(p + r * ldp + j, e);
      parts[r] += e;
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r)
    states.total[first + r] += sumLanes(parts[r]);
}

/// Updates the `rows` queries of a strip, whatever the scores.
void updateStrip(const ScoreBlock &scores, int64_t first, int64_t rows,
                 Range columns, float *p, int64_t ldp, RowStates &states,
                 float *sum, int64_t width) {
  int64_t i = 0;
  auto run = [&](auto count) {
    for (; i + count <= rows; i += count)
      updatePlainRows<count>(scores, first + i, columns, p + i * ldp, ldp,
                             states, sum + i * width, width);
  };
  if (scores.isPlain()) {
    // The maxima and sums of these rows stay in registers.
    run(Constant<6>());
    run(Constant<4>());
    run(Constant<1>());
  }
  for (; i < rows; ++i)
    updateRow(scores, first + i, columns, p + i * ldp, states, sum + i * width,
              width);
}

/// Divides sums of queries from `first` of the block on by the totals, and
/// writes them.
void writeResults(const Operands &o, const BlockPosition &at,
                  const RowStates &states, int64_t first, int64_t rows,
                  float *sum, int64_t width) {
  TypedRows to = rowsOf(o, o.out, at.batch, at.head, at.begin + first);
  bool isDirect = to.type == INGOT_F32 && o.shape.valueSize == width;
  for (int64_t i = 0; i < rows; ++i) {
    // Without keys there are no sums.
    bool isEmpty = !(states.total[first + i] > 0);
    float factor = isEmpty ? 0.0f : 1.0f / states.total[first + i];
    const float *from = sum + i * width;
    float *row =
        isDirect ? reinterpret_cast<float *>(to.at(i)) : sum + i * width;
    for (int64_t c = 0; c < width; c += kLanes)
      store(row + c, isEmpty ? Vector{} : load(from + c) * factor);
  }
  if (!isDirect)
    writeRows(rows, o.shape.valueSize, sum, width, to);
}

/// Writes the log-sum-exps of a block of queries.
void writeSums(const Operands &o, const BlockPosition &at,
               const RowStates &states) {
  const AttentionShape &s = o.shape;
  int64_t rows = at.end - at.begin;
  float *lse = o.lse + (at.batch * s.heads + at.head) * s.queries + at.begin;
  for (int64_t i = 0; i < rows; i += kLanes) {
    Vector total = load(states.total + i), maximum = load(states.maximum + i);
    Vector sums = maximum * kLog2 + logarithm(total);
    sums = total > 0 ? sums : Vector{} + kInfinity;
    for (int64_t l = 0; l < smaller(kLanes, rows - i); ++l)
      lse[i + l] = sums[l];
  }
}

/// Computes the result and the log-sum-exp of a block of queries of one head on
/// tile units.
void computeForwardOnTiles(const Operands &o, int64_t task, float *scratch) {
  const AttentionShape &s = o.shape;
  BlockPosition at(task, s.heads, s.queries, kQueryBlock);
  int64_t rows = at.end - at.begin, keyHead = at.head / (s.heads / s.keyHeads);
  int64_t vs = padded(s.valueSize), strip = stripOf(o);
  TileUnits units{*o.tiles};
  float *p = scratch, *sum = p + kQueryBlock * kKeyBlock;
  char *tileQ = reinterpret_cast<char *>(sum + kQueryBlock * vs);
  char *tileK = tileQ + units.offset(kQueryBlock, s.size);
  char *tileV = tileK + units.offset(kKeyBlock, s.size);
  char *tileP = tileV + units.offset(vs, kKeyBlock);
  TypedRows queries = rowsOf(o, o.q, at.batch, at.head, at.begin);
  units.packLeft(rows, s.size, queries.elements(), queries.elementStride(), 1,
                 tileQ);
  RowStates states(rows);
  for (int64_t i = 0; i < rows * vs; ++i)
    sum[i] = 0;
  int64_t length = countKeys(s, at.batch);
  Range blocks = keyBlocksOf(s, length, at.begin, at.end, kKeyBlock);
  for (int64_t k0 = blocks.begin; k0 < blocks.end; k0 += kKeyBlock) {
    int64_t keys = smaller(kKeyBlock, length - k0);
    ScoreBlock scores{s,        strip, grainOf(o), at.batch, at.head,
                      at.begin, rows,  k0,         keys};
    TypedRows keyRows = rowsOf(o, o.k, at.batch, keyHead, k0);
    TypedRows valueRows = rowsOf(o, o.v, at.batch, keyHead, k0);
    units.packRight(s.size, keys, keyRows.elements(), 1,
                    keyRows.elementStride(), tileK);
    units.packRight(keys, s.valueSize, valueRows.elements(),
                    valueRows.elementStride(), 1, tileV);
    scores.multiplyColumns(units, s.size, tileQ, tileK, p);
    for (int64_t r = 0; r < rows; r += strip)
      if (Range columns = scores.columnsOf(r); !columns.isEmpty())
        updateStrip(scores, r, smaller(strip, rows - r), columns,
                    p + r * kKeyBlock, kKeyBlock, states, sum + r * vs, vs);
    scores.multiplyByKeys(units, p, tileV, vs, tileP, sum, true);
  }
  writeResults(o, at, states, 0, rows, sum, vs);
  writeSums(o, at, states);
}

/// Keys and values of a block of keys. They are packed in panels as strips of
/// queries need them, so that memory is read while units multiply.
class PackedKeys {
public:
  PackedKeys(const Operands &o, const BlockPosition &at, int64_t first,
             int64_t count, float *keys, float *values)
      : size(o.shape.size), valueSize(o.shape.valueSize),
        width(abi::alignTo(valueSize, kTileColumns)), count(count),
        keyRows(rowsOf(o, o.k, at.batch, keyHeadOf(o, at), first)),
        valueRows(rowsOf(o, o.v, at.batch, keyHeadOf(o, at), first)),
        packsValues(valueSize % kTileColumns != 0 || !isReadInPlace(valueRows)),
        keys(keys), values(values) {}

  /// Packs up to `end` columns.
  void packUntil(int64_t end) {
    for (; packed < end; packed += kStripColumns) {
      int64_t rows = smaller(kStripColumns, count - packed);
      while (fetched < packed + rows)
        prefetch();
      packTransposed(rows, size, keyRows.from(packed), keysAt(packed),
                     kStripColumns);
      if (packsValues)
        pack(rows, valueSize, valueRows.from(packed), values + packed * width,
             width);
    }
  }
  /// Prefetches one more key and its value.
  void prefetch() {
    if (fetched >= count)
      return;
    keyRows.prefetch(fetched, size);
    valueRows.prefetch(fetched++, valueSize);
  }

  /// The panel of keys whose first column this is.
  float *keysAt(int64_t column) const { return keys + column * size; }
  /// Values from a key on.
  const float *valuesAt(int64_t key) const {
    return packsValues ? values + key * width
                       : reinterpret_cast<const float *>(valueRows.at(key));
  }
  int64_t valueDistance() const {
    return packsValues ? width : valueRows.elementStride();
  }

private:
  static int64_t keyHeadOf(const Operands &o, const BlockPosition &at) {
    return at.head / (o.shape.heads / o.shape.keyHeads);
  }

  int64_t size, valueSize, width, count, packed = 0, fetched = 0;
  TypedRows<const char> keyRows, valueRows;
  bool packsValues;
  float *keys, *values;
};

/// Computes the forward pass on vector units: one strip of queries after the
/// other, so that its scores stay in the L1 cache, with keys and values packed
/// in the L2 cache.
void computeForward(const Operands &o, int64_t task, float *scratch) {
  if (o.tiles)
    return computeForwardOnTiles(o, task, scratch);
  const AttentionShape &s = o.shape;
  BlockPosition at(task, s.heads, s.queries, forwardQueriesOf(s, false));
  int64_t rows = at.end - at.begin;
  int64_t ks = padded(s.size), vs = abi::alignTo(s.valueSize, kTileColumns);
  float *q = scratch, *k = q + kStripRows * ks, *v = k + ks * kForwardKeys,
        *p = v + kForwardKeys * vs, *sums = p + kStripRows * kForwardKeys;
  TypedRows queries = rowsOf(o, o.q, at.batch, at.head, at.begin);
  TypedRows results = rowsOf(o, o.out, at.batch, at.head, at.begin);
  bool packsQueries = !isReadInPlace(queries);
  int64_t lda = packsQueries ? ks : queries.elementStride();
  RowStates states(rows);
  int64_t length = countKeys(s, at.batch);
  Range blocks = keyBlocksOf(s, length, at.begin, at.end, kForwardKeys);
  // Also without keys, for which results are written.
  for (int64_t k0 = blocks.begin; k0 == blocks.begin || k0 < blocks.end;
       k0 += kForwardKeys) {
    int64_t keys = smaller(kForwardKeys, blocks.end - k0);
    ScoreBlock scores{s,        kStripRows, kLanes, at.batch, at.head,
                      at.begin, rows,       k0,     keys};
    PackedKeys packed(o, at, k0, keys, k, v);
    for (int64_t r = 0; r < rows; r += kStripRows) {
      int64_t count = smaller(kStripRows, rows - r);
      Range range = scores.keysOfStrip(r), columns = scores.columnsOf(r);
      bool isLast = k0 + kForwardKeys >= blocks.end;
      float *sum = sums + r * vs;
      if (!range.isEmpty()) {
        packed.packUntil(columns.end);
        const float *a = reinterpret_cast<const float *>(queries.at(r));
        if (packsQueries) {
          pack(count, s.size, queries.from(r), q, ks);
          a = q;
        }
        for (int64_t w = columns.begin / kStripColumns * kStripColumns;
             w < columns.end; w += kStripColumns)
          ScoreBlock::multiplyPanel(count, s.size, a, lda, packed.keysAt(w),
                                    kStripColumns, w, columns, p, kForwardKeys);
        // Keys before this block were hidden from all of these queries.
        bool isFirst =
            k0 == blocks.begin || (s.left >= 0 && at.begin + r - s.left >= k0);
        for (int64_t i = 0; i < count; ++i) {
          packed.prefetch();
          if (r + kStripRows + i < rows)
            queries.prefetch(r + kStripRows + i, s.size);
          if (isLast)
            results.prefetch(r + i, s.valueSize);
        }
        updateStrip(scores, r, count, columns, p, kForwardKeys, states, sum,
                    vs);
        forEachTile(vs, [&](int64_t w, auto vectors) {
          multiplyRows<vectors, false>(
              count, range.end - range.begin, p + range.begin,
              Constant<kForwardKeys>(), packed.valuesAt(range.begin) + w,
              packed.valueDistance(), sum + w, vs, !isFirst);
        });
      }
      if (isLast)
        writeResults(o, at, states, r, count, sum, vs);
    }
  }
  writeSums(o, at, states);
}

} // namespace
} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHFORWARD_H
