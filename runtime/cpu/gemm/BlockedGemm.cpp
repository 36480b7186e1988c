// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/gemm/BlockedGemm.h"

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;
using namespace ingot::abi;

Prefetch BlockedGemm::getPanel(int64_t row, int64_t start,
                               int64_t calls) const {
  int64_t size = std::min(inner, g.k - start);
  int64_t rows = std::min(kernels.tileRows, g.m - row);
  int64_t bytes = getElementBytes(g.a.type);
  if (rows <= 0)
    return {};
  const void *data = (g.a + row * g.aRow + start * g.aInner).data;
  return g.aInner == 1
             ? Prefetch(data, rows, size * bytes, g.aRow * bytes, calls)
             : Prefetch(data, size, rows * bytes, g.aInner * bytes, calls);
}

void BlockedGemm::multiply(int64_t batch, int64_t row, int64_t column,
                           int64_t count, int64_t start, const char *a,
                           const char *b, float *sums, Prefetch next) const {
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
      next.prefetchForRead();
      output.prefetchForWrite();
      kernels.multiplyTile(part, partA, partB + j * lineBytes, c + j, cRow,
                           rows, std::min(kernels.tileColumns, count - j),
                           start + k != 0);
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
