// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/gemm/SplitGemm.h"

#include "runtime/cpu/gemm/BlockedGemm.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;
using namespace ingot::cpu;

SplitGemm::SplitGemm(const Gemm &g, const Kernels &kernels)
    : g(g), kernels(kernels),
      partInner(alignTo(divideCeil(g.k, kGemmParts), kernels.step)),
      inner(kernels.getInner(partInner)),
      columns(std::min(alignTo(g.n, kernels.tileColumns), kernels.columns)) {}

bool SplitGemm::fits() const {
  return g.batch == 1 && !g.onTiles && isSplit(g.m, g.n, g.k);
}

int64_t SplitGemm::getPackedBytes() const {
  return (columns + kernels.tileRows) * kernels.getLineBytes(inner);
}

int64_t SplitGemm::getScratchBytes() const {
  return alignTo(kGemmParts * g.m * g.n * int64_t(sizeof(float)),
                 INGOT_ALIGNMENT) +
         getThreadCount() * getPackedBytes();
}

float *SplitGemm::getSums(char *scratch, int64_t part) const {
  return reinterpret_cast<float *>(scratch) + part * g.m * g.n;
}

void SplitGemm::multiplyPart(int64_t part, float *sums, char *packed) const {
  int64_t begin = std::min(part * partInner, g.k);
  Gemm own = g;
  own.k = std::min(partInner, g.k - begin);
  own.a = g.a + begin * g.aInner;
  own.b = g.b + begin * g.bInner;
  own.c = sums;
  own.cRow = g.n;
  own.epilogue = nullptr;
  own.roundedType = INGOT_F32;
  if (own.k == 0)
    std::fill_n(sums, g.m * g.n, 0.0f);
  char *b = packed, *a = packed + columns * kernels.getLineBytes(inner);
  BlockedGemm blocked(own, kernels);
  PanelPacker nothing;
  blocked.inner = inner;
  kernels.begin();
  for (int64_t start = 0; start < own.k; start += inner)
    for (int64_t column = 0; column < g.n; column += columns) {
      int64_t count = std::min(columns, g.n - column);
      int64_t size = std::min(inner, own.k - start);
      kernels.packRight(own.b + start * g.bInner + column * g.bColumn, g.bInner,
                        g.bColumn, size, count, b);
      for (int64_t row = 0; row < g.m; row += kernels.tileRows) {
        blocked.packPanel(/*batch=*/0, row, start, a);
        blocked.multiply(/*batch=*/0, row, column, count, start, a, b,
                         /*sums=*/nullptr, nothing);
      }
    }
  kernels.end();
}

void SplitGemm::finish(int64_t begin, int64_t end, char *scratch) const {
  for (int64_t row = begin; row < end; ++row) {
    float *line = getSums(scratch, 0) + row * g.n;
    for (int64_t part = 1; part < kGemmParts; ++part) {
      const float *from = getSums(scratch, part) + row * g.n;
      for (int64_t i = 0; i < g.n; ++i)
        line[i] += from[i];
    }
    if (g.roundedType != INGOT_F32)
      kernels.round(line, g.roundedType, g.rounded + row * g.roundedRow, g.n);
    else
      std::copy_n(line, g.n, g.c + row * g.cRow);
  }
  if (g.epilogue)
    g.epilogue(g.buffers, g.firstRow + begin, g.firstRow + end, 0, g.n);
}

void SplitGemm::run(char *scratch) const {
  char *packed =
      scratch + getScratchBytes() - getThreadCount() * getPackedBytes();
  parallelTasks(kGemmParts, /*grain=*/1, /*perThread=*/kGemmParts,
                [&](int64_t thread, int64_t begin, int64_t end) {
                  for (int64_t part = begin; part < end; ++part)
                    multiplyPart(part, getSums(scratch, part),
                                 packed + thread * getPackedBytes());
                });
  parallelFor(g.m, /*grain=*/1,
              [&](int64_t begin, int64_t end) { finish(begin, end, scratch); });
}
