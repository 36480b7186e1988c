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

/// Turns the products of one query into exponentials relative to the running
/// maximum, and scales the sums so far down where the maximum rises. Dropped
/// weights count in the total.
void updateRow(const ScoreBlock &scores, int64_t row, Range columns, float *p,
               float &maximum, float &total, float *sum, int64_t width) {
  Vector most = Vector{} - kInfinity;
  scores.forEachVector(row, columns, p, [&](int64_t j, Vector x) {
    store(p + j, x);
    most = x > most ? x : most;
  });
  float top = maxLanes(most);
  top = maximum > top ? maximum : top;
  // While no key is allowed, any finite maximum makes the weights 0.
  float shift = top == -kInfinity ? 0.0f : top;
  Vector parts{};
  float room[kKeyBlock];
  const float *factors = scores.drawRow(row, columns, room);
  for (int64_t j = columns.begin; j < columns.end; j += kLanes) {
    Vector e = exponential(load(p + j) - shift);
    store(p + j, factors ? e * load(factors + j) : e);
    parts += e;
  }
  if (top != maximum) {
    float factor = exponential(Vector{} + (maximum - shift))[0];
    for (int64_t c = 0; c < width; c += kLanes)
      store(sum + c, load(sum + c) * factor);
    total *= factor;
    maximum = top;
  }
  total += sumLanes(parts);
}

/// Computes the result and the log-sum-exp of a block of queries of one head.
void computeForward(const Operands &o, int64_t task, float *scratch) {
  const AttentionShape &s = o.shape;
  BlockPosition at(task, s.heads, s.queries, kQueryBlock);
  int64_t rows = at.end - at.begin, keyHead = at.head / (s.heads / s.keyHeads);
  int64_t ks = padded(s.size), vs = padded(s.valueSize);
  float *q = scratch, *kt = q + kQueryBlock * ks, *v = kt + ks * kKeyBlock,
        *p = v + kKeyBlock * vs, *sum = p + kQueryBlock * kKeyBlock;
  TypedRows queries = rowsOf(o, o.q, at.batch, at.head, at.begin);
  char *tileQ = nullptr, *tileK = nullptr, *tileV = nullptr, *tileP = nullptr;
  if (o.tiles) {
    TileUnits units{*o.tiles};
    p = scratch;
    sum = p + kQueryBlock * kKeyBlock;
    tileQ = reinterpret_cast<char *>(sum + kQueryBlock * vs);
    tileK = tileQ + units.offset(kQueryBlock, s.size);
    tileV = tileK + units.offset(kKeyBlock, s.size);
    tileP = tileV + units.offset(vs, kKeyBlock);
    units.packLeft(rows, s.size, queries.elements(), queries.elementStride(), 1,
                   tileQ);
  } else {
    pack(rows, s.size, queries, q, ks);
  }
  int64_t strip = stripOf(o);
  float maximum[kQueryBlock], total[kQueryBlock];
  for (int64_t i = 0; i < rows * vs; ++i)
    sum[i] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    maximum[i] = -kInfinity;
    total[i] = 0;
  }
  int64_t length = countKeys(s, at.batch);
  Range blocks = keyBlocksOf(s, length, at.begin, at.end);
  for (int64_t k0 = blocks.begin; k0 < blocks.end; k0 += kKeyBlock) {
    int64_t keys = smaller(kKeyBlock, length - k0);
    ScoreBlock scores{s, strip, at.batch, at.head, at.begin, rows, k0, keys};
    TypedRows keyRows = rowsOf(o, o.k, at.batch, keyHead, k0);
    TypedRows valueRows = rowsOf(o, o.v, at.batch, keyHead, k0);
    if (o.tiles) {
      TileUnits units{*o.tiles};
      units.packRight(s.size, keys, keyRows.elements(), 1,
                      keyRows.elementStride(), tileK);
      units.packRight(keys, s.valueSize, valueRows.elements(),
                      valueRows.elementStride(), 1, tileV);
      scores.multiplyColumns(units, s.size, tileQ, tileK, p);
    } else {
      packTransposed(keys, s.size, keyRows, kt, kKeyBlock);
      pack(keys, s.valueSize, valueRows, v, vs);
      scores.multiplyColumns(s.size, q, ks, kt, p);
    }
    for (int64_t i = 0; i < rows; ++i) {
      Range columns = scores.columnsOf(i / strip * strip);
      if (!columns.isEmpty())
        updateRow(scores, i, columns, p + i * kKeyBlock, maximum[i], total[i],
                  sum + i * vs, vs);
    }
    if (o.tiles) {
      scores.multiplyByKeys(TileUnits{*o.tiles}, p, tileV, vs, tileP, sum,
                            true);
      continue;
    }
    multiply<false>(
        rows, vs, p, kKeyBlock, v, vs, sum, vs, true, [&](int64_t first) {
          Range columns = scores.columnsOf(first);
          return Range{columns.begin, smaller(columns.end, scores.keys)};
        });
  }
  float *lse = o.lse + (at.batch * s.heads + at.head) * s.queries + at.begin;
  for (int64_t i = 0; i < rows; ++i) {
    float factor = total[i] > 0 ? 1.0f / total[i] : 0.0f;
    for (int64_t c = 0; c < vs; c += kLanes)
      store(sum + i * vs + c, load(sum + i * vs + c) * factor);
    lse[i] = total[i] > 0 ? maximum[i] + __builtin_logf(total[i]) : kInfinity;
  }
  writeRows(rows, s.valueSize, sum, vs,
            rowsOf(o, o.out, at.batch, at.head, at.begin));
}

} // namespace
} // namespace ingot::runtime::flash

#endif // INGOT_RUNTIME_CPU_ATTENTION_FLASHFORWARD_H
