// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/gemm/BlockedGemm.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;
using namespace ingot::cpu;

//===----------------------------------------------------------------------===//
// Packing between tiles
//===----------------------------------------------------------------------===//

PanelPacker::PanelPacker(const Kernels &kernels, const Panel &panel, char *to,
                         int64_t calls)
    : kernels(&kernels), panel(panel), to(to) {
  if (kernels.packStep == 0) {
    Fetches f = getFetches(0, panel.size);
    all = Prefetch(f.first, f.rows, f.last + 1, f.stride, calls);
    return;
  }
  part = alignTo(divideCeil(panel.size, calls), kernels.packStep);
  // Parts of a are not worth the calls where the processor foresees what is
  // read, or where what is read stays in the L1 cache.
  constexpr int64_t lineBytes = 64;
  packsParts = !panel.isOfA || (panel.innerStride != 1 &&
                                2 * lineBytes * panel.size > kL1Bytes);
}

/// Returns what is read for `size` elements of the inner dimension, from
/// `first` on.
Fetches PanelPacker::getFetches(int64_t first, int64_t size) const {
  int64_t bytes = getElementBytes(panel.from.type);
  const void *data = (panel.from + first * panel.innerStride).data;
  bool isInner = panel.innerStride == 1;
  return {static_cast<const char *>(data), isInner ? panel.lines : size,
          (isInner ? panel.lineStride : panel.innerStride) * bytes,
          (isInner ? size : panel.lines) * bytes - 1};
}

void PanelPacker::packUntil(int64_t end) {
  if (packed == end)
    return;
  Elements from = panel.from + packed * panel.innerStride;
  int64_t width = panel.isOfA ? kernels->tileRows : kernels->tileColumns;
  char *at = to + packed * width * kernels->elementBytes;
  if (panel.isOfA)
    kernels->packA(from, panel.lineStride, panel.innerStride, panel.lines,
                   end - packed, at);
  else
    kernels->packRight(from, panel.innerStride, panel.lineStride, end - packed,
                       panel.lines, at);
  packed = end;
}

void PanelPacker::advancePart() {
  if (packsParts)
    packUntil(fetched);
  int64_t first = fetched;
  fetched = std::min(fetched + part, panel.size);
  fetches = first == fetched ? Fetches() : getFetches(first, fetched - first);
}

bool PanelPacker::finish() {
  if (!kernels)
    return false;
  packUntil(panel.size);
  *this = {};
  return true;
}

PanelPacker BlockedGemm::getPacker(int64_t row, int64_t start, char *a,
                                   int64_t calls) const {
  return {kernels,
          {/*isOfA=*/true, g.a + row * g.aRow + start * g.aInner, g.aRow,
           g.aInner, std::min(kernels.tileRows, g.m - row),
           std::min(inner, g.k - start)},
          a,
          calls};
}

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

void BlockedGemm::multiply(int64_t batch, int64_t row, int64_t column,
                           int64_t count, int64_t start, const char *a,
                           const char *b, float *sums,
                           PanelPacker &next) const {
  int64_t size = std::min(inner, g.k - start);
  int64_t rows = std::min(kernels.tileRows, g.m - row);
  float *c = rounds() ? sums : g.c + batch * g.cBatch + row * g.cRow + column;
  int64_t cRow = rounds() ? columns : g.cRow;
  uint16_t *rounded = nullptr;
  Prefetch output;
  if (rounds()) {
    rounded = g.rounded + (batch * g.m + row) * g.roundedRow + column;
    output = Prefetch(rounded, rows, count * sizeof(uint16_t),
                      g.roundedRow * sizeof(uint16_t), countCalls(size, count));
  }
  int64_t lineBytes = kernels.getLineBytes(size), depth = getDepth(size);
  for (int64_t k = 0; k < size; k += depth) {
    int64_t part = std::min(depth, size - k);
    const char *partA = a + kernels.getLineBytes(k) * kernels.tileRows;
    const char *partB = b + kernels.getLineBytes(k) * kernels.tileColumns;
    for (int64_t j = 0; j < count; j += kernels.tileColumns) {
      const Fetches &fetches = next.advance();
      output.prefetchForWrite();
      kernels.multiplyTile(part, partA, partB + j * lineBytes, c + j, cRow,
                           rows, std::min(kernels.tileColumns, count - j),
                           start + k != 0, fetches);
    }
  }
  if (start + size != g.k)
    return;
  for (int64_t i = 0; rounds() && i < rows; ++i)
    kernels.round(sums + i * columns, g.roundedType, rounded + i * g.roundedRow,
                  count);
  if (!g.epilogue)
    return;
  int64_t first = g.firstRow + batch * g.m + row;
  g.epilogue(g.buffers, first, first + rows, column, column + count);
}
