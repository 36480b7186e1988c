#include "runtime/cpu/gemm/Gemm.h"

#include "runtime/core/Features.h"
#include "runtime/core/HalfPrecision.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/gemm/Kernels.h"

#include <algorithm>
#include <sys/syscall.h>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;

namespace {

/// Rows of a that are packed at a time: their packs do not grow with the
/// product (Scratch.h).
constexpr int64_t kMostRows = 8192;

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
      int64_t first = g.firstRow + batch * g.m + row + i;
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

/// A product in which threads share a block of b and divide the rows of a,
/// which each packs when it needs them: threads that pack meet threads that
/// multiply, so that neither the memory nor the arithmetic units wait.
class Panels {
public:
  Panels(const Gemm &g, const Kernels &kernels);

  /// Whether the product is of this kind: many rows for the columns.
  bool fits() const;
  /// Whether sums are complete when a thread leaves its panel of a.
  bool isWhole() const { return inner == g.k; }
  int64_t getScratchBytes() const {
    return packB + getThreadCount() * (packA + sumsBytes);
  }
  void run(char *scratch) const;

private:
  /// A panel of a times the block of b from column `column` on; elements from
  /// `start` on of the inner dimension.
  void runPanel(int64_t row, int64_t column, int64_t start, const char *b,
                char *a, float *sums) const;
  void finish(int64_t row, int64_t rows, int64_t column, int64_t count,
              const float *sums) const;

  const Gemm &g;
  const Kernels &kernels;
  int64_t columns, inner;
  /// Bytes of packs, and of sums that are rounded before they go to memory.
  int64_t packB, packA, sumsBytes;
};

Panels::Panels(const Gemm &g, const Kernels &kernels) : g(g), kernels(kernels) {
  inner = std::min(g.k, kernels.inner);
  columns = kernels.columns;
  if (kernels.isChain) {
    // All of the inner dimension, if a block of columns that is worth it stays
    // in the cache. More blocks than one pack a again: for many rows, and in
    // the order in which they are stored.
    constexpr int64_t cacheBytes = 5 << 18, leastColumns = 384, manyRows = 1024;
    int64_t most = cacheBytes / kernels.getLineBytes(g.k) /
                   kernels.tileColumns * kernels.tileColumns;
    bool isOneBlock = g.n <= std::min(most, columns);
    if (isOneBlock ||
        (most >= leastColumns && g.aInner == 1 && g.m >= manyRows)) {
      inner = g.k;
      columns = std::min(columns, std::max(most, kernels.tileColumns));
    }
  }
  // Equal blocks.
  columns = roundUp(divideUp(g.n, divideUp(g.n, columns)), kernels.tileColumns);
  packB = columns * kernels.getLineBytes(inner);
  packA = kernels.tileRows * kernels.getLineBytes(inner);
  bool rounds = g.roundedType != INGOT_F32 && isWhole();
  sumsBytes =
      rounds ? kernels.tileRows * columns * static_cast<int64_t>(sizeof(float))
             : 0;
}

bool Panels::fits() const {
  int64_t panels = divideUp(g.m, kernels.tileRows);
  return g.batch == 1 && panels >= divideUp(columns, kernels.tileColumns) &&
         (isWhole() || g.n <= columns);
}

void Panels::finish(int64_t row, int64_t rows, int64_t column, int64_t count,
                    const float *sums) const {
  if (sumsBytes != 0)
    for (int64_t i = 0; i < rows; ++i)
      roundFromF32(sums + i * columns,
                   g.rounded + (row + i) * g.roundedRow + column, g.roundedType,
                   count);
  if (g.epilogue)
    g.epilogue(g.buffers, row, row + rows, column, column + count);
}

void Panels::runPanel(int64_t row, int64_t column, int64_t start, const char *b,
                      char *a, float *sums) const {
  int64_t size = std::min(inner, g.k - start);
  int64_t rows = std::min(kernels.tileRows, g.m - row);
  int64_t count = std::min(columns, g.n - column);
  kernels.packA(g.a + row * g.aRow + start * g.aInner, g.aRow, g.aInner, rows,
                size, a);
  float *c = sumsBytes != 0 ? sums : g.c + row * g.cRow + column;
  int64_t cRow = sumsBytes != 0 ? columns : g.cRow;
  int64_t lineBytes = kernels.getLineBytes(size);
  // Parts of the panel that stay in the L1 cache.
  int64_t depth = kernels.isChain ? kernels.depth : size;
  for (int64_t k = 0; k < size; k += depth) {
    int64_t part = std::min(depth, size - k);
    const char *partA = a + kernels.getLineBytes(k) * kernels.tileRows;
    const char *partB = b + kernels.getLineBytes(k) * kernels.tileColumns;
    for (int64_t j = 0; j < count; j += kernels.tileColumns)
      kernels.multiplyTile(part, partA, partB + j * lineBytes, c + j, cRow,
                           rows, std::min(kernels.tileColumns, count - j),
                           start + k != 0);
  }
  if (start + size == g.k)
    finish(row, rows, column, count, sums);
}

void Panels::run(char *scratch) const {
  char *aPacks = scratch + packB;
  for (int64_t column = 0; column < g.n; column += columns)
    for (int64_t start = 0; start < g.k; start += inner) {
      int64_t size = std::min(inner, g.k - start);
      int64_t count = std::min(columns, g.n - column);
      parallelFor(divideUp(count, kernels.tileColumns), /*grain=*/2,
                  [&](int64_t begin, int64_t end) {
                    int64_t first = begin * kernels.tileColumns;
                    kernels.packB(
                        g.b + start * g.bInner + (column + first) * g.bColumn,
                        g.bInner, g.bColumn, size,
                        std::min(end * kernels.tileColumns, count) - first,
                        scratch + first * kernels.getLineBytes(size));
                  });
      parallelShares(divideUp(g.m, kernels.tileRows),
                     [&](int64_t thread, int64_t begin, int64_t end) {
                       char *a = aPacks + thread * (packA + sumsBytes);
                       auto *sums = reinterpret_cast<float *>(a + packA);
                       kernels.begin();
                       for (int64_t i = begin; i < end; ++i)
                         runPanel(i * kernels.tileRows, column, start, scratch,
                                  a, sums);
                       kernels.end();
                     });
    }
}

/// Packs all rows of a, then takes blocks of b in parallel.
void runBlocks(const Gemm &g, const Kernels &kernels, char *scratch) {
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
  // Fewer are packed faster than handed over.
  constexpr int64_t leastRows = 48;
  int64_t panels = divideUp(g.m, kernels.tileRows);
  for (int64_t start = 0; start < g.k; start += blocking.inner) {
    int64_t size = std::min(blocking.inner, g.k - start);
    parallelFor(panels, leastRows / kernels.tileRows,
                [&](int64_t begin, int64_t end) {
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

bool ingot::runtime::canRound(const Gemm &g) {
  Panels panels(g, chooseKernels(g));
  return panels.fits() && panels.isWhole();
}

size_t ingot::runtime::getGemmScratchBytes(const Gemm &g) {
  const Kernels &kernels = chooseKernels(g);
  int64_t threads = getThreadCount();
  if (Panels panels(g, kernels); panels.fits())
    return static_cast<size_t>(panels.getScratchBytes());
  Gemm part = g;
  if (g.batch == 1)
    part.m = std::min(g.m, kMostRows);
  Blocking blocking(part, kernels);
  // Batches are shared out whole: each thread packs its own a.
  int64_t packs = g.batch == 1 ? 1 : threads;
  return static_cast<size_t>(packs * blocking.aPack + threads * blocking.bPack);
}

void ingot::runtime::runGemm(const Gemm &g, char *scratch) {
  const Kernels &kernels = chooseKernels(g);
  if (Panels panels(g, kernels); panels.fits())
    return panels.run(scratch);
  if (g.batch == 1 && g.m > kMostRows) {
    Gemm part = g;
    for (int64_t row = 0; row < g.m; row += kMostRows) {
      part.m = std::min(kMostRows, g.m - row);
      part.a = g.a + row * g.aRow;
      part.c = g.c + row * g.cRow;
      part.firstRow = g.firstRow + row;
      runBlocks(part, kernels, scratch);
    }
    return;
  }
  runBlocks(g, kernels, scratch);
}
