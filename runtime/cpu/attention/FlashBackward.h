// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The gradients of attention for blocks of queries and keys.
//
// Compiled once per instruction set: see Vectors.h.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ATTENTION_FLASHBACKWARD_H
#define INGOT_RUNTIME_CPU_ATTENTION_FLASHBACKWARD_H

#include "runtime/cpu/attention/FlashScores.h"

namespace ingot::runtime::flash {
namespace {

/// Computes delta for a block of queries: for each query the dot product of the
/// result and its cotangent, which is the sum over keys of weights times their
/// gradients.
void computeDelta(const Operands &o, int64_t task, float *) {
  const AttentionShape &s = o.shape;
  BlockPosition at(task, s.heads, s.queries, kQueryBlock);
  float *to = o.delta + (at.batch * s.heads + at.head) * s.queries;
  TypedRows results = rowsOf(o, o.result, at.batch, at.head, at.begin);
  TypedRows grads = rowsOf(o, o.cotangent, at.batch, at.head, at.begin);
  constexpr int64_t most = 128;
  float roomA[most], roomB[most];
  for (int64_t i = 0; i < at.end - at.begin; ++i) {
    Vector parts{};
    float rest = 0;
    for (int64_t first = 0; first < s.valueSize; first += most) {
      int64_t count = smaller(most, s.valueSize - first), c = 0;
      const float *a = widenRow(results, i, first, count, roomA);
      const float *b = widenRow(grads, i, first, count, roomB);
      for (; c + kLanes <= count; c += kLanes)
        parts += load(a + c) * load(b + c);
      for (; c < count; ++c)
        rest += a[c] * b[c];
    }
    to[at.begin + i] = sumLanes(parts) + rest;
  }
}

/// Rows of f32 that vector units read or add to.
template <typename Float> struct Rows {
  Float *data = nullptr;
  int64_t ld = 0;
};

void clearRows(int64_t first, int64_t last, int64_t columns,
               const Rows<float> &to) {
  for (int64_t r = first; r < last; ++r)
    for (int64_t c = 0; c < columns; c += kLanes)
      store(to.data + r * to.ld + c, Vector{});
}

/// The packed operands, and the sums, of the gradients of a block of queries
/// and a block of keys, in the scratch memory of a thread. Vector units read
/// rows as they are, in place where they can, and keys and values transposed as
/// well; tile units read rows packed as left and as right operands.
struct BackwardBlocks {
  const Operands &o;
  const AttentionShape &s;
  int64_t ks, vs;
  float *weights, *scoreGrads, *dq, *dk, *dv;
  /// In 16-bit precision, the gradients in f32 of the queries from `firstHead`
  /// and `firstQuery` on.
  float *querySums;
  int64_t firstHead, firstQuery;
  float *q, *g, *k, *kt, *vt;
  /// Where vector units find the rows of the block.
  Rows<const float> queryRows, gradRows, keyRows;
  char *leftQ, *leftG, *rightQ, *rightG, *rightK, *rightKt, *rightVt, *strip;

  BackwardBlocks(const Operands &operands, float *scratch, int64_t firstHead,
                 int64_t firstQuery)
      : o(operands), s(o.shape), ks(padded(s.size)), vs(padded(s.valueSize)),
        weights(scratch), scoreGrads(weights + kQueryBlock * kKeyBlock),
        dq(scoreGrads + kQueryBlock * kKeyBlock), dk(dq + kQueryBlock * ks),
        dv(dk + kKeyBlock * ks), querySums(dv + kKeyBlock * vs),
        firstHead(firstHead), firstQuery(firstQuery) {
    q = querySums + getScratch(s).querySums;
    if (!o.tiles) {
      g = q + kQueryBlock * ks;
      k = g + kQueryBlock * vs;
      kt = k + kKeyBlock * ks;
      vt = kt + ks * kKeyBlock;
      return;
    }
    TileUnits units{*o.tiles};
    leftQ = reinterpret_cast<char *>(q);
    leftG = leftQ + units.offset(kQueryBlock, s.size);
    rightQ = leftG + units.offset(kQueryBlock, s.valueSize);
    rightG = rightQ + units.offset(ks, kQueryBlock);
    rightK = rightG + units.offset(vs, kQueryBlock);
    rightKt = rightK + units.offset(ks, kKeyBlock);
    rightVt = rightKt + units.offset(kKeyBlock, s.size);
    strip = rightVt + units.offset(kKeyBlock, s.valueSize);
  }

  /// Whether tiles of rows of `columns` elements need no padding, and sums need
  /// no rounding.
  bool isWhole(int64_t columns) const {
    return !o.tiles && !isHalf(s) && columns % kTileColumns == 0;
  }
  /// Packs rows to `to` unless they are read in place.
  Rows<const float> packRows(int64_t count, int64_t columns,
                             const TypedRows<const char> &rows,
                             float *to) const {
    if (isWhole(columns) && isReadInPlace(rows))
      return {reinterpret_cast<const float *>(rows.at(0)),
              rows.elementStride()};
    pack(count, columns, rows, to, padded(columns));
    return {to, padded(columns)};
  }
  /// Columns of tiles for sums of `columns`.
  int64_t widthOf(int64_t columns) const {
    return isWhole(columns) ? columns : padded(columns);
  }
  /// Where the gradients of the keys, or values, of a block are summed: in
  /// their place, or in `room`.
  Rows<float> keySums(const WrittenRows &grads, int64_t columns, float *room,
                      const BlockPosition &at) const {
    if (!isWhole(columns))
      return {room, padded(columns)};
    TypedRows rows = rowsOf(o, grads, at.batch, at.head, at.begin);
    return {reinterpret_cast<float *>(rows.at(0)), rows.elementStride()};
  }

  void packQueries(int64_t batch, int64_t head, int64_t first, int64_t count) {
    TypedRows rows = rowsOf(o, o.q, batch, head, first);
    TypedRows grads = rowsOf(o, o.cotangent, batch, head, first);
    if (!o.tiles) {
      queryRows = packRows(count, s.size, rows, q);
      gradRows = packRows(count, s.valueSize, grads, g);
      return;
    }
    TileUnits units{*o.tiles};
    int64_t stride = rows.elementStride(), gradStride = grads.elementStride();
    units.packLeft(count, s.size, rows.elements(), stride, 1, leftQ);
    units.packLeft(count, s.valueSize, grads.elements(), gradStride, 1, leftG);
    units.packRight(count, s.size, rows.elements(), stride, 1, rightQ);
    units.packRight(count, s.valueSize, grads.elements(), gradStride, 1,
                    rightG);
  }
  void packKeys(int64_t batch, int64_t head, int64_t first, int64_t count) {
    TypedRows rows = rowsOf(o, o.k, batch, head, first);
    TypedRows values = rowsOf(o, o.v, batch, head, first);
    if (!o.tiles) {
      for (int64_t i = 0; i < count; ++i) {
        rows.prefetch(i, s.size);
        values.prefetch(i, s.valueSize);
      }
      keyRows = packRows(count, s.size, rows, k);
      packTransposed(count, s.size, rows, kt, kKeyBlock);
      packTransposed(count, s.valueSize, values, vt, kKeyBlock);
      return;
    }
    TileUnits units{*o.tiles};
    int64_t stride = rows.elementStride();
    units.packRight(count, s.size, rows.elements(), stride, 1, rightK);
    units.packRight(s.size, count, rows.elements(), 1, stride, rightKt);
    units.packRight(s.valueSize, count, values.elements(), 1,
                    values.elementStride(), rightVt);
  }

  /// Where the gradient of a query is summed.
  float *sumsOf(int64_t batch, int64_t head, int64_t query) const {
    if (!isHalf(s))
      return reinterpret_cast<float *>(o.dq.at(batch, head, query));
    int64_t row = (head - firstHead) * s.queries + query - firstQuery;
    return querySums + row * ks;
  }
  /// Clears the gradients of queries that no block of keys writes.
  void clearQueries(int64_t batch, int64_t head, int64_t begin,
                    int64_t end) const {
    if (!keyBlocksOf(s, countKeys(s, batch), begin, end, kKeyBlock).isEmpty())
      return;
    for (int64_t i = begin; i < end; ++i) {
      float *sums = sumsOf(batch, head, i);
      for (int64_t c = 0; c < s.size; ++c)
        sums[c] = 0;
    }
  }
  void writeQueries(int64_t batch, int64_t head, int64_t begin,
                    int64_t end) const {
    if (isHalf(s))
      writeRows(end - begin, s.size, sumsOf(batch, head, begin), ks,
                rowsOf(o, o.dq, batch, head, begin));
  }

  /// Computes the weights, and the gradients of the products of queries and
  /// keys.
  void computeScoreGradients(const ScoreBlock &scores) const {
    if (o.tiles) {
      TileUnits units{*o.tiles};
      scores.multiplyColumns(units, s.size, leftQ, rightKt, weights);
      scores.multiplyColumns(units, s.valueSize, leftG, rightVt, scoreGrads);
    } else {
      scores.multiplyColumns(s.size, queryRows.data, queryRows.ld, kt, weights);
      scores.multiplyColumns(s.valueSize, gradRows.data, gradRows.ld, vt,
                             scoreGrads);
    }
    int64_t first =
        (scores.batch * s.heads + scores.head) * s.queries + scores.q0;
    for (int64_t i = 0; i < scores.queries; ++i) {
      Range columns = scores.vectorsOf(
          i, scores.columnsOf(i / scores.strip * scores.strip));
      float *w = weights + i * kKeyBlock, *d = scoreGrads + i * kKeyBlock;
      float lse = o.lse[first + i] * kLog2E;
      float perQuery = o.delta[first + i] * s.scale;
      float room[kKeyBlock];
      const float *factors = scores.drawRow(i, columns, room);
      scores.forEachVector(i, columns, w, [&](int64_t j, Vector x) {
        Vector e = exponential2(x - lse), scoreGrad = load(d + j);
        store(w + j, factors ? e * load(factors + j) : e);
        scoreGrad = factors ? scoreGrad * load(factors + j) : scoreGrad;
        store(d + j, e * (scoreGrad * s.scale - perQuery));
      });
      for (int64_t j = 0; j < kKeyBlock; j += kLanes)
        if (j < columns.begin || j >= columns.end) {
          store(w + j, Vector{});
          store(d + j, Vector{});
        }
    }
  }

  /// Adds the contribution of these keys to the gradient of the queries; the
  /// first block of keys writes it.
  void addQueryGradient(const ScoreBlock &scores) const {
    int64_t last = scores.q0 + scores.queries;
    bool adds = scores.k0 != keyBlocksOf(s, countKeys(s, scores.batch),
                                         scores.q0, last, kKeyBlock)
                                 .begin;
    auto keys = [&](int64_t first) { return scores.keysOfStrip(first); };
    if (isWhole(s.size)) {
      float *sums = sumsOf(scores.batch, scores.head, scores.q0);
      int64_t ld = o.dq.rowStride / static_cast<int64_t>(sizeof(float));
      return multiply<false>(scores.queries, s.size, scoreGrads,
                             Constant<kKeyBlock>(), keyRows.data, keyRows.ld,
                             sums, ld, adds, keys);
    }
    if (o.tiles)
      scores.multiplyByKeys(TileUnits{*o.tiles}, scoreGrads, rightK, ks, strip,
                            dq, false);
    else
      multiply<false>(scores.queries, ks, scoreGrads, Constant<kKeyBlock>(),
                      keyRows.data, keyRows.ld, dq, ks, false, keys);
    for (int64_t i = 0; i < scores.queries; ++i) {
      float *to = sumsOf(scores.batch, scores.head, scores.q0 + i);
      for (int64_t c = 0; c < s.size; ++c)
        to[c] = adds ? to[c] + dq[i * ks + c] : dq[i * ks + c];
    }
  }

  /// Adds the contribution of these queries to the gradients of keys and
  /// values, or writes it; tile units always add.
  void addKeyGradients(const ScoreBlock &scores, Rows<float> keySums,
                       Rows<float> valueSums, bool adds) const {
    if (o.tiles) {
      TileUnits units{*o.tiles};
      scores.multiplyByQueries(units, weights, rightG, vs, strip, dv);
      scores.multiplyByQueries(units, scoreGrads, rightQ, ks, strip, dk);
      return;
    }
    auto queries = [&](int64_t first) { return scores.queriesOf(first); };
    Constant<kKeyBlock> ld;
    multiply<true>(scores.keys, widthOf(s.valueSize), weights, ld,
                   gradRows.data, gradRows.ld, valueSums.data, valueSums.ld,
                   adds, queries);
    multiply<true>(scores.keys, widthOf(s.size), scoreGrads, ld, queryRows.data,
                   queryRows.ld, keySums.data, keySums.ld, adds, queries);
  }
};

/// Computes the gradient of a block of queries of one head.
void computeQueryGradients(const Operands &o, int64_t task, float *scratch) {
  const AttentionShape &s = o.shape;
  BlockPosition at(task, s.heads, s.queries, kQueryBlock);
  BackwardBlocks data(o, scratch, at.head, at.begin);
  data.packQueries(at.batch, at.head, at.begin, at.end - at.begin);
  data.clearQueries(at.batch, at.head, at.begin, at.end);
  int64_t length = countKeys(s, at.batch);
  Range blocks = keyBlocksOf(s, length, at.begin, at.end, kKeyBlock);
  for (int64_t k0 = blocks.begin; k0 < blocks.end; k0 += kKeyBlock) {
    ScoreBlock scores{s,
                      stripOf(o),
                      grainOf(o),
                      at.batch,
                      at.head,
                      at.begin,
                      at.end - at.begin,
                      k0,
                      smaller(kKeyBlock, length - k0)};
    data.packKeys(at.batch, at.head / (s.heads / s.keyHeads), k0, scores.keys);
    data.computeScoreGradients(scores);
    data.addQueryGradient(scores);
  }
  data.writeQueries(at.batch, at.head, at.begin, at.end);
}

/// Computes the gradients of a block of keys and its values and, if `both`, its
/// contribution to the gradients of the queries on the way.
void computeKeyBlock(const Operands &o, const BlockPosition &at,
                     BackwardBlocks &data, bool both) {
  const AttentionShape &s = o.shape;
  int64_t rows = at.end - at.begin, group = s.heads / s.keyHeads;
  Rows<float> keySums = data.keySums(o.dk, s.size, data.dk, at);
  Rows<float> valueSums = data.keySums(o.dv, s.valueSize, data.dv, at);
  // Gradients of keys beyond the sample's length are 0.
  int64_t keys = smaller(rows, countKeys(s, at.batch) - at.begin);
  Range blocks = {0, 0};
  if (keys > 0) {
    blocks = queryBlocksOf(s, at.begin, at.begin + keys);
    data.packKeys(at.batch, at.head, at.begin, keys);
  }
  // The first block of queries writes the gradients of all keys of the length.
  bool isWritten = !o.tiles && !blocks.isEmpty(), adds = !isWritten;
  int64_t first = isWritten ? keys : 0;
  clearRows(first, rows, data.widthOf(s.size), keySums);
  clearRows(first, rows, data.widthOf(s.valueSize), valueSums);
  for (int64_t head = at.head * group; head < (at.head + 1) * group; ++head)
    for (int64_t q0 = blocks.begin; q0 < blocks.end; q0 += kQueryBlock) {
      ScoreBlock scores{s,
                        stripOf(o),
                        grainOf(o),
                        at.batch,
                        head,
                        q0,
                        smaller(kQueryBlock, s.queries - q0),
                        at.begin,
                        keys};
      data.packQueries(at.batch, head, q0, scores.queries);
      data.computeScoreGradients(scores);
      data.addKeyGradients(scores, keySums, valueSums, adds);
      adds = true;
      if (both)
        data.addQueryGradient(scores);
    }
  if (!data.isWhole(s.size))
    writeRows(rows, s.size, data.dk, data.ks,
              rowsOf(o, o.dk, at.batch, at.head, at.begin));
  if (!data.isWhole(s.valueSize))
    writeRows(rows, s.valueSize, data.dv, data.vs,
              rowsOf(o, o.dv, at.batch, at.head, at.begin));
}

/// Computes the gradients of a block of keys of one key head.
void computeKeyGradients(const Operands &o, int64_t task, float *scratch) {
  BackwardBlocks data(o, scratch, 0, 0);
  computeKeyBlock(
      o, BlockPosition(task, o.shape.keyHeads, o.shape.keys, kKeyBlock), data,
      false);
}

/// Computes all gradients of one key head and of the heads that use it.
void computeHeadGradients(const Operands &o, int64_t task, float *scratch) {
  const AttentionShape &s = o.shape;
  int64_t group = s.heads / s.keyHeads;
  int64_t batch = task / s.keyHeads, firstHead = task % s.keyHeads * group;
  BackwardBlocks data(o, scratch, firstHead, 0);
  int64_t queryBlocks = abi::divideCeil(s.queries, kQueryBlock);
  for (int64_t head = firstHead; head < firstHead + group; ++head)
    for (int64_t i = 0; i < queryBlocks; ++i) {
      int64_t block = (batch * s.heads + head) * queryBlocks + i;
      computeDelta(o, block, scratch);
      BlockPosition at(block, s.heads, s.queries, kQueryBlock);
      data.clearQueries(batch, head, at.begin, at.end);
    }
  int64_t blocks = abi::divideCeil(s.keys, kKeyBlock);
  for (int64_t i = 0; i < blocks; ++i)
    computeKeyBlock(
        o, BlockPosition(task * blocks + i, s.keyHeads, s.keys, kKeyBlock),
        data, true);
  for (int64_t head = firstHead; head < firstHead + group; ++head)
    data.writeQueries(batch, head, 0, s.queries);
}

} // namespace
} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHBACKWARD_H
