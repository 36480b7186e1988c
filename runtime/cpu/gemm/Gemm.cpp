#include "runtime/cpu/gemm/Gemm.h"

#include "runtime/cpu/Features.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/gemm/Kernels.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;

namespace {

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return divideUp(a, b) * b; }

/// Floats of a cache line: packs start on one.
constexpr int64_t kLine = 16;

/// How a product is cut up.
struct Blocking {
  explicit Blocking(const Gemm &g);

  /// Rows and columns of a task: it packs a block of b that stays in the L2
  /// cache, and runs down the rows of a, packed by all threads before.
  int64_t rows, columns;
  int64_t rowTasks, columnTasks;
  int64_t inner, aPack, bPack;
};

Blocking::Blocking(const Gemm &g) {
  int64_t threads = getThreadCount();
  inner = std::min(g.k, kInner);
  // Equal blocks, so that no thread waits for another's remainder.
  int64_t blocks = divideUp(g.n, kColumns);
  if (g.batch == 1 && g.n >= threads * kTileColumns)
    blocks = roundUp(blocks, threads);
  columns = roundUp(divideUp(g.n, blocks), kTileColumns);
  columnTasks = divideUp(g.n, columns);
  rows = roundUp(g.m, kTileRows);
  if (g.batch * columnTasks < threads)
    rows = roundUp(divideUp(g.m, threads), kTileRows);
  rowTasks = divideUp(g.m, rows);
  aPack = roundUp(roundUp(g.m, kTileRows) * inner, kLine);
  bPack = columns * inner;
}

/// One block of columns of one product: c += a x b over part of the inner
/// dimension.
struct Task {
  const Gemm &g;
  const Blocking &blocking;
  const float *packedA;
  float *packedB;
  int64_t batch, start, size;

  void run(int64_t index) const {
    int64_t row = index % blocking.rowTasks * blocking.rows;
    int64_t column = index / blocking.rowTasks * blocking.columns;
    int64_t rows = std::min(blocking.rows, g.m - row);
    int64_t columns = std::min(blocking.columns, g.n - column);
    packB(g.b + batch * g.bBatch + start * g.bInner + column * g.bColumn,
          g.bInner, g.bColumn, size, columns, packedB);
    float *c = g.c + batch * g.cBatch + row * g.cRow + column;
    bool finishes = g.epilogue && start + size == g.k;
    for (int64_t i = 0; i < rows; i += kTileRows) {
      int64_t count = std::min(kTileRows, rows - i);
      for (int64_t j = 0; j < columns; j += kTileColumns)
        multiplyTile(size, packedA + (row + i) * size, packedB + j * size,
                     c + i * g.cRow + j, g.cRow, count,
                     std::min(kTileColumns, columns - j), start != 0);
      int64_t first = batch * g.m + row + i;
      if (finishes)
        g.epilogue(g.buffers, first, first + count, column, column + columns);
    }
  }
};

void packRows(const Gemm &g, int64_t batch, int64_t start, int64_t size,
              int64_t first, int64_t last, float *packed) {
  for (int64_t i = first; i < last; i += kTileRows)
    packA(g.a + batch * g.aBatch + i * g.aRow + start * g.aInner, g.aRow,
          g.aInner, std::min(kTileRows, g.m - i), size, packed + i * size);
}

/// Whether one block of b has all columns: then threads share it, and divide
/// the rows of a, which each packs when it needs them.
bool isNarrow(const Gemm &g) {
  return g.batch == 1 && g.n <= kColumns &&
         divideUp(g.m, kTileRows) >= divideUp(g.n, kTileColumns);
}

int64_t getNarrowPackB(const Gemm &g) {
  return roundUp(g.n, kTileColumns) * std::min(g.k, kInner);
}

/// Threads that pack meet threads that multiply, so that neither the memory
/// nor the arithmetic units wait.
void runNarrow(const Gemm &g, float *scratch) {
  float *packedB = scratch, *aPacks = packedB + getNarrowPackB(g);
  for (int64_t start = 0; start < g.k; start += kInner) {
    int64_t size = std::min(kInner, g.k - start);
    parallelFor(divideUp(g.n, kTileColumns), /*grain=*/2,
                [&](int64_t begin, int64_t end) {
                  int64_t first = begin * kTileColumns;
                  packB(g.b + start * g.bInner + first * g.bColumn, g.bInner,
                        g.bColumn, size,
                        std::min(end * kTileColumns, g.n) - first,
                        packedB + first * size);
                });
    parallelShares(divideUp(g.m, kTileRows), [&](int64_t thread, int64_t begin,
                                                 int64_t end) {
      float *packedA = aPacks + thread * kTileRows * std::min(g.k, kInner);
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = i * kTileRows;
        int64_t rows = std::min(kTileRows, g.m - row);
        packA(g.a + row * g.aRow + start * g.aInner, g.aRow, g.aInner, rows,
              size, packedA);
        float *c = g.c + row * g.cRow;
        for (int64_t j = 0; j < g.n; j += kTileColumns)
          multiplyTile(size, packedA, packedB + j * size, c + j, g.cRow, rows,
                       std::min(kTileColumns, g.n - j), start != 0);
        if (g.epilogue && start + size == g.k)
          g.epilogue(g.buffers, row, row + rows, 0, g.n);
      }
    });
  }
}

} // namespace

bool ingot::runtime::canRunGemm() {
#ifdef __x86_64__
  static const bool can =
      findMissingFeatures({"avx512f", "avx512bw", "avx512vl"}).empty();
  return can;
#else
  return false;
#endif
}

size_t ingot::runtime::getGemmScratchBytes(const Gemm &g) {
  int64_t threads = getThreadCount();
  if (isNarrow(g))
    return static_cast<size_t>(getNarrowPackB(g) +
                               threads * kTileRows * std::min(g.k, kInner)) *
           sizeof(float);
  Blocking blocking(g);
  // Batches are shared out whole: each thread packs its own a.
  int64_t packs = g.batch == 1 ? 1 : threads;
  return static_cast<size_t>(packs * blocking.aPack +
                             threads * blocking.bPack) *
         sizeof(float);
}

void ingot::runtime::runGemm(const Gemm &g, char *scratch) {
  auto *packs = reinterpret_cast<float *>(scratch);
  if (isNarrow(g))
    return runNarrow(g, packs);
  Blocking blocking(g);
  int64_t threads = getThreadCount();
  int64_t tasks = blocking.rowTasks * blocking.columnTasks;
  if (g.batch > 1) {
    float *bPacks = packs + threads * blocking.aPack;
    parallelShares(g.batch, [&](int64_t thread, int64_t begin, int64_t end) {
      float *a = packs + thread * blocking.aPack;
      float *b = bPacks + thread * blocking.bPack;
      for (int64_t batch = begin; batch < end; ++batch)
        for (int64_t start = 0; start < g.k; start += blocking.inner) {
          int64_t size = std::min(blocking.inner, g.k - start);
          packRows(g, batch, start, size, 0, g.m, a);
          Task task{g, blocking, a, b, batch, start, size};
          for (int64_t i = 0; i < tasks; ++i)
            task.run(i);
        }
    });
    return;
  }
  float *bPacks = packs + blocking.aPack;
  int64_t panels = divideUp(g.m, kTileRows);
  for (int64_t start = 0; start < g.k; start += blocking.inner) {
    int64_t size = std::min(blocking.inner, g.k - start);
    parallelFor(panels, /*grain=*/4, [&](int64_t begin, int64_t end) {
      packRows(g, 0, start, size, begin * kTileRows,
               std::min(end * kTileRows, g.m), packs);
    });
    parallelShares(tasks, [&](int64_t thread, int64_t begin, int64_t end) {
      Task task{g, blocking, packs, bPacks + thread * blocking.bPack,
                0, start,    size};
      for (int64_t i = begin; i < end; ++i)
        task.run(i);
    });
  }
}
