#include "runtime/cpu/gemm/Gemm.h"

#include "runtime/cpu/Features.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/gemm/Kernels.h"

#include <algorithm>
#include <sys/syscall.h>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;

namespace {

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return divideUp(a, b) * b; }

const Kernels &chooseKernels(const Gemm &g) {
  return g.onTiles ? getTileKernels(g.a.type) : getVectorKernels();
}

/// How a product is cut up. Packs are in bytes.
struct Blocking {
  Blocking(const Gemm &g, const Kernels &kernels);

  const Kernels &kernels;
  /// Rows and columns of a task: it packs a block of b that stays in the L2
  /// cache, and runs down the rows of a, packed by all threads before.
  int64_t rows, columns;
  int64_t rowTasks, columnTasks;
  int64_t inner, aPack, bPack;
};

Blocking::Blocking(const Gemm &g, const Kernels &kernels) : kernels(kernels) {
  int64_t threads = getThreadCount();
  inner = std::min(g.k, kernels.inner);
  // Equal blocks, so that no thread waits for another's remainder.
  int64_t blocks = divideUp(g.n, kernels.columns);
  if (g.batch == 1 && g.n >= threads * kernels.tileColumns)
    blocks = roundUp(blocks, threads);
  columns = roundUp(divideUp(g.n, blocks), kernels.tileColumns);
  columnTasks = divideUp(g.n, columns);
  rows = roundUp(g.m, kernels.tileRows);
  if (g.batch * columnTasks < threads)
    rows = roundUp(divideUp(g.m, threads), kernels.tileRows);
  rowTasks = divideUp(g.m, rows);
  aPack = roundUp(roundUp(g.m, kernels.tileRows) * kernels.getLineBytes(inner),
                  INGOT_ALIGNMENT);
  bPack = columns * kernels.getLineBytes(inner);
}

/// One block of columns of one product: c += a x b over part of the inner
/// dimension.
struct Task {
  const Gemm &g;
  const Blocking &blocking;
  const char *packedA;
  char *packedB;
  int64_t batch, start, size;

  void run(int64_t index) const {
    const Kernels &kernels = blocking.kernels;
    int64_t row = index % blocking.rowTasks * blocking.rows;
    int64_t column = index / blocking.rowTasks * blocking.columns;
    int64_t rows = std::min(blocking.rows, g.m - row);
    int64_t columns = std::min(blocking.columns, g.n - column);
    kernels.packB(g.b + batch * g.bBatch + start * g.bInner +
                      column * g.bColumn,
                  g.bInner, g.bColumn, size, columns, packedB);
    float *c = g.c + batch * g.cBatch + row * g.cRow + column;
    int64_t lineBytes = kernels.getLineBytes(size);
    bool finishes = g.epilogue && start + size == g.k;
    for (int64_t i = 0; i < rows; i += kernels.tileRows) {
      int64_t count = std::min(kernels.tileRows, rows - i);
      for (int64_t j = 0; j < columns; j += kernels.tileColumns)
        kernels.multiplyTile(
            size, packedA + (row + i) * lineBytes, packedB + j * lineBytes,
            c + i * g.cRow + j, g.cRow, count,
            std::min(kernels.tileColumns, columns - j), start != 0);
      int64_t first = batch * g.m + row + i;
      if (finishes)
        g.epilogue(g.buffers, first, first + count, column, column + columns);
    }
  }
};

void packRows(const Gemm &g, const Kernels &kernels, int64_t batch,
              int64_t start, int64_t size, int64_t first, int64_t last,
              char *packed) {
  for (int64_t i = first; i < last; i += kernels.tileRows)
    kernels.packA(g.a + batch * g.aBatch + i * g.aRow + start * g.aInner,
                  g.aRow, g.aInner, std::min(kernels.tileRows, g.m - i), size,
                  packed + i * kernels.getLineBytes(size));
}

/// Whether one block of b has all columns: then threads share it, and divide
/// the rows of a, which each packs when it needs them.
bool isNarrow(const Gemm &g, const Kernels &kernels) {
  return g.batch == 1 && g.n <= kernels.columns &&
         divideUp(g.m, kernels.tileRows) >= divideUp(g.n, kernels.tileColumns);
}

int64_t getNarrowPackB(const Gemm &g, const Kernels &kernels) {
  return roundUp(g.n, kernels.tileColumns) *
         kernels.getLineBytes(std::min(g.k, kernels.inner));
}

/// Of one thread.
int64_t getNarrowPackA(const Gemm &g, const Kernels &kernels) {
  return kernels.tileRows * kernels.getLineBytes(std::min(g.k, kernels.inner));
}

/// Threads that pack meet threads that multiply, so that neither the memory
/// nor the arithmetic units wait.
void runNarrow(const Gemm &g, const Kernels &kernels, char *scratch) {
  char *packedB = scratch, *aPacks = packedB + getNarrowPackB(g, kernels);
  for (int64_t start = 0; start < g.k; start += kernels.inner) {
    int64_t size = std::min(kernels.inner, g.k - start);
    int64_t lineBytes = kernels.getLineBytes(size);
    parallelFor(divideUp(g.n, kernels.tileColumns), /*grain=*/2,
                [&](int64_t begin, int64_t end) {
                  int64_t first = begin * kernels.tileColumns;
                  kernels.packB(g.b + start * g.bInner + first * g.bColumn,
                                g.bInner, g.bColumn, size,
                                std::min(end * kernels.tileColumns, g.n) -
                                    first,
                                packedB + first * lineBytes);
                });
    parallelShares(
        divideUp(g.m, kernels.tileRows),
        [&](int64_t thread, int64_t begin, int64_t end) {
          char *packedA = aPacks + thread * getNarrowPackA(g, kernels);
          kernels.begin();
          for (int64_t i = begin; i < end; ++i) {
            int64_t row = i * kernels.tileRows;
            int64_t rows = std::min(kernels.tileRows, g.m - row);
            kernels.packA(g.a + row * g.aRow + start * g.aInner, g.aRow,
                          g.aInner, rows, size, packedA);
            float *c = g.c + row * g.cRow;
            for (int64_t j = 0; j < g.n; j += kernels.tileColumns)
              kernels.multiplyTile(
                  size, packedA, packedB + j * lineBytes, c + j, g.cRow, rows,
                  std::min(kernels.tileColumns, g.n - j), start != 0);
            if (g.epilogue && start + size == g.k)
              g.epilogue(g.buffers, row, row + rows, 0, g.n);
          }
          kernels.end();
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

bool ingot::runtime::hasTileUnits() {
#ifdef __x86_64__
  // The system gives out tile registers on request.
  constexpr long requestPermission = 0x1023, tileData = 18;
  static const bool can =
      canRunGemm() && findMissingFeatures({"amx-tile", "amx-bf16"}).empty() &&
      syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return can;
#else
  return false;
#endif
}

size_t ingot::runtime::getGemmScratchBytes(const Gemm &g) {
  const Kernels &kernels = chooseKernels(g);
  int64_t threads = getThreadCount();
  if (isNarrow(g, kernels))
    return static_cast<size_t>(getNarrowPackB(g, kernels) +
                               threads * getNarrowPackA(g, kernels));
  Blocking blocking(g, kernels);
  // Batches are shared out whole: each thread packs its own a.
  int64_t packs = g.batch == 1 ? 1 : threads;
  return static_cast<size_t>(packs * blocking.aPack + threads * blocking.bPack);
}

void ingot::runtime::runGemm(const Gemm &g, char *scratch) {
  const Kernels &kernels = chooseKernels(g);
  if (isNarrow(g, kernels))
    return runNarrow(g, kernels, scratch);
  Blocking blocking(g, kernels);
  int64_t threads = getThreadCount();
  int64_t tasks = blocking.rowTasks * blocking.columnTasks;
  if (g.batch > 1) {
    char *bPacks = scratch + threads * blocking.aPack;
    parallelShares(g.batch, [&](int64_t thread, int64_t begin, int64_t end) {
      char *a = scratch + thread * blocking.aPack;
      char *b = bPacks + thread * blocking.bPack;
      kernels.begin();
      for (int64_t batch = begin; batch < end; ++batch)
        for (int64_t start = 0; start < g.k; start += blocking.inner) {
          int64_t size = std::min(blocking.inner, g.k - start);
          packRows(g, kernels, batch, start, size, 0, g.m, a);
          Task task{g, blocking, a, b, batch, start, size};
          for (int64_t i = 0; i < tasks; ++i)
            task.run(i);
        }
      kernels.end();
    });
    return;
  }
  char *bPacks = scratch + blocking.aPack;
  int64_t panels = divideUp(g.m, kernels.tileRows);
  for (int64_t start = 0; start < g.k; start += blocking.inner) {
    int64_t size = std::min(blocking.inner, g.k - start);
    parallelFor(panels, /*grain=*/4, [&](int64_t begin, int64_t end) {
      packRows(g, kernels, 0, start, size, begin * kernels.tileRows,
               std::min(end * kernels.tileRows, g.m), scratch);
    });
    parallelShares(tasks, [&](int64_t thread, int64_t begin, int64_t end) {
      Task task{g, blocking, scratch, bPacks + thread * blocking.bPack,
                0, start,    size};
      kernels.begin();
      for (int64_t i = begin; i < end; ++i)
        task.run(i);
      kernels.end();
    });
  }
}
