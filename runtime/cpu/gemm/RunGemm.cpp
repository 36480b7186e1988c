// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/gemm/RunGemm.h"

#include "runtime/core/machine/Features.h"
#include "runtime/cpu/gemm/BlockedGemm.h"
#include "runtime/cpu/gemm/RegionGemm.h"
#include "runtime/cpu/gemm/SplitGemm.h"
#include "runtime/cpu/gemm/kernels/GemmKernels.h"
#include "runtime/cpu/gemm/kernels/TileTable.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;
using namespace ingot::cpu;
using ingot::abi::CpuLevel;

Elements Elements::operator+(int64_t count) const {
  if (encoded)
    return {data, type, encoded, first + count};
  return {static_cast<const char *>(data) + count * getElementBytes(type),
          type};
}

const Kernels &ingot::runtime::gemm::getVectorKernels() {
  static const Kernels &kernels = INGOT_CHOOSE_KERNELS();
  return kernels;
}

const Kernels &ingot::runtime::gemm::getStrassenKernels() {
#ifdef __x86_64__
  static const Kernels &kernels =
      VectorBuilds{genericStrassenKernels, avx2StrassenKernels,
                   avx512StrassenKernels}
          .get();
  return kernels;
#else
  return genericStrassenKernels;
#endif
}

const Kernels &ingot::runtime::gemm::getTileKernels(int32_t type) {
#ifdef __x86_64__
  return type == INGOT_BF16  ? tileKernels.bf16
         : type == INGOT_F16 ? tileKernels.f16
                             : tileKernels.f32;
#else
  (void)type;
  return getVectorKernels();
#endif
}

bool ingot::runtime::gemm::multipliesBf16() {
  static const bool does = getCpuLevel() >= CpuLevel::V4 &&
                           findMissingFeatures({"avx512bf16"}).empty();
  return does;
}

namespace {

const Kernels &chooseKernels(const Gemm &g) {
  if (g.onTiles)
    return getTileKernels(g.a.type);
#ifdef __x86_64__
  if (g.a.type == INGOT_BF16 && g.b.type == INGOT_BF16 && multipliesBf16())
    return dotKernels;
#endif
  return g.byStrassen ? getStrassenKernels() : getVectorKernels();
}

//===----------------------------------------------------------------------===//
// Many rows
//===----------------------------------------------------------------------===//

/// The schedule for many rows on tile units: threads share a block of b and
/// divide the rows of a, which each thread packs when it needs them. Packing in
/// one thread overlaps with multiplication in another, so that neither memory
/// nor arithmetic units wait.
class Panels : BlockedGemm {
public:
  Panels(const Gemm &g, const Kernels &kernels);

  /// Whether the schedule fits: there are many rows for the columns.
  bool fits() const;
  using BlockedGemm::isWhole;
  int64_t getScratchBytes() const {
    return getBlockBytes() + getThreadCount() * getThreadBytes();
  }
  void run(char *scratch) const;

private:
  int64_t getThreadBytes() const { return packA + getSumsBytes(); }
  void runShare(int64_t begin, int64_t end, int64_t column, int64_t start,
                const char *b, char *a) const;

  /// Whether a thread keeps all its panels from one block of columns to the
  /// next.
  bool keepsPanels;
  /// Bytes of a thread's packed panels.
  int64_t packA;
};

Panels::Panels(const Gemm &g, const Kernels &kernels)
    : BlockedGemm(g, kernels) {
  if (kernels.isChain) {
    // A block has all of the inner dimension if enough columns of it stay in
    // the cache. With several blocks a is packed again, which is for many rows
    // that are stored contiguously. Otherwise a block has all columns.
    constexpr int64_t leastColumns = 384;
    int64_t most = kGemmBlockBytes / kernels.getLineBytes(g.k) /
                   kernels.tileColumns * kernels.tileColumns;
    int64_t all = alignTo(g.n, kernels.tileColumns);
    if (g.n <= std::min(most, columns) ||
        (most >= leastColumns && g.aInner == 1 && g.m >= kGemmManyRows)) {
      inner = g.k;
      columns = std::min(columns, std::max(most, kernels.tileColumns));
    } else if (all <= kGemmWideColumns) {
      columns = all;
      int64_t depths =
          kGemmBlockBytes / all / kernels.getLineBytes(kernels.depth);
      int64_t blocks =
          divideCeil(g.k, std::max<int64_t>(depths, 1) * kernels.depth);
      inner = std::min(g.k, alignTo(divideCeil(g.k, blocks), kernels.depth));
    }
  }
  // Blocks are equal.
  columns =
      alignTo(divideCeil(g.n, divideCeil(g.n, columns)), kernels.tileColumns);
  int64_t share =
      divideCeil(divideCeil(g.m, kernels.tileRows), getThreadCount());
  keepsPanels =
      isWhole() && columns < g.n && share * getPanelBytes() <= kGemmKeptBytes;
  packA = getPanelBytes() * (keepsPanels ? share : 1);
}

bool Panels::fits() const {
  int64_t panels = divideCeil(g.m, kernels.tileRows);
  return g.batch == 1 &&
         2 * panels >= divideCeil(columns, kernels.tileColumns) &&
         (g.n <= columns || (isWhole() && g.m >= kGemmManyRows));
}

void Panels::runShare(int64_t begin, int64_t end, int64_t column, int64_t start,
                      const char *b, char *a) const {
  auto *sums = reinterpret_cast<float *>(a + packA);
  int64_t count = std::min(columns, g.n - column);
  bool packs = !keepsPanels || column == 0;
  int64_t calls = countCalls(std::min(inner, g.k - start), count);
  int64_t step = keepsPanels ? getPanelBytes() : 0;
  PanelPacker next;
  for (int64_t i = begin; i < end; ++i) {
    int64_t row = i * kernels.tileRows;
    char *panel = a + (i - begin) * step;
    if (packs && !next.finish())
      packPanel(/*batch=*/0, row, start, panel);
    if (packs && i + 1 < end)
      next = getPacker(row + kernels.tileRows, start, panel + step, calls);
    multiply(/*batch=*/0, row, column, count, start, panel, b, sums, next);
  }
}

void Panels::run(char *scratch) const {
  char *packs = scratch + getBlockBytes();
  for (int64_t column = 0; column < g.n; column += columns)
    for (int64_t start = 0; start < g.k; start += inner) {
      int64_t size = std::min(inner, g.k - start);
      int64_t count = std::min(columns, g.n - column);
      parallelFor(divideCeil(count, kernels.tileColumns), /*grain=*/2,
                  [&](int64_t begin, int64_t end) {
                    int64_t first = begin * kernels.tileColumns;
                    kernels.packRight(
                        g.b + start * g.bInner + (column + first) * g.bColumn,
                        g.bInner, g.bColumn, size,
                        std::min(end * kernels.tileColumns, count) - first,
                        scratch + first * kernels.getLineBytes(size));
                  });
      int64_t panels = divideCeil(g.m, kernels.tileRows);
      auto multiplyRows = [&](int64_t thread, int64_t begin, int64_t end) {
        kernels.begin();
        runShare(begin, end, column, start, scratch,
                 packs + thread * getThreadBytes());
        kernels.end();
      };
      // Panels that are kept belong to a share of the rows.
      if (keepsPanels)
        parallelShares(panels, multiplyRows);
      else
        parallelTasks(panels, /*grain=*/4, /*perThread=*/8, multiplyRows);
    }
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

/// The schedule for few rows on tile units, and for batches: all threads pack
/// a, then share it and divide the columns of b. In a batch, each thread
/// computes whole matrices instead.
class Blocks : BlockedGemm {
public:
  Blocks(const Gemm &g, const Kernels &kernels);

  using BlockedGemm::isWhole;
  int64_t getScratchBytes() const {
    // In a batch each thread packs its own a.
    int64_t threads = getThreadCount();
    return (g.batch == 1 ? 1 : threads) * packA + threads * getThreadBytes();
  }
  void run(char *scratch) const;

private:
  int64_t getThreadBytes() const { return getBlockBytes() + getSumsBytes(); }
  void packRows(int64_t batch, int64_t start, int64_t first, int64_t last,
                char *packed) const;
  /// Packs a block of b, and multiplies the rows of a task by it.
  void runTask(int64_t task, int64_t batch, int64_t start, const char *a,
               char *b) const;

  /// The rows of a task.
  int64_t rows;
  int64_t rowTasks, columnTasks;
  int64_t packA;
};

Blocks::Blocks(const Gemm &g, const Kernels &kernels)
    : BlockedGemm(g, kernels) {
  int64_t threads = getThreadCount();
  // Blocks are equal, so that no thread waits for another's remainder.
  int64_t blocks = divideCeil(g.n, columns);
  if (g.batch == 1 && g.n >= threads * kernels.tileColumns)
    blocks = alignTo(blocks, threads);
  columns = alignTo(divideCeil(g.n, blocks), kernels.tileColumns);
  columnTasks = divideCeil(g.n, columns);
  rows = alignTo(g.m, kernels.tileRows);
  if (g.batch * columnTasks < threads)
    rows = alignTo(divideCeil(g.m, threads), kernels.tileRows);
  rowTasks = divideCeil(g.m, rows);
  packA = alignTo(alignTo(g.m, kernels.tileRows) * kernels.getLineBytes(inner),
                  INGOT_ALIGNMENT);
}

void Blocks::packRows(int64_t batch, int64_t start, int64_t first, int64_t last,
                      char *packed) const {
  int64_t lineBytes = kernels.getLineBytes(std::min(inner, g.k - start));
  for (int64_t i = first; i < last; i += kernels.tileRows)
    packPanel(batch, i, start, packed + i * lineBytes);
}

void Blocks::runTask(int64_t task, int64_t batch, int64_t start, const char *a,
                     char *b) const {
  int64_t first = task % rowTasks * rows;
  int64_t column = task / rowTasks * columns;
  int64_t size = std::min(inner, g.k - start);
  int64_t count = std::min(columns, g.n - column);
  kernels.packRight(g.b + batch * g.bBatch + start * g.bInner +
                        column * g.bColumn,
                    g.bInner, g.bColumn, size, count, b);
  auto *sums = reinterpret_cast<float *>(b + getBlockBytes());
  int64_t last = std::min(first + rows, g.m);
  PanelPacker nothing;
  for (int64_t row = first; row < last; row += kernels.tileRows)
    multiply(batch, row, column, count, start,
             a + row * kernels.getLineBytes(size), b, sums, nothing);
}

void Blocks::run(char *scratch) const {
  int64_t threads = getThreadCount(), tasks = rowTasks * columnTasks;
  if (g.batch > 1) {
    char *bPacks = scratch + threads * packA;
    parallelTasks(g.batch, /*grain=*/1, /*perThread=*/8,
                  [&](int64_t thread, int64_t begin, int64_t end) {
                    char *a = scratch + thread * packA;
                    char *b = bPacks + thread * getThreadBytes();
                    kernels.begin();
                    for (int64_t batch = begin; batch < end; ++batch)
                      for (int64_t start = 0; start < g.k; start += inner) {
                        packRows(batch, start, 0, g.m, a);
                        for (int64_t task = 0; task < tasks; ++task)
                          runTask(task, batch, start, a, b);
                      }
                    kernels.end();
                  });
    return;
  }
  char *bPacks = scratch + packA;
  // Fewer rows are packed faster than they are handed to another thread.
  constexpr int64_t leastRows = 48;
  int64_t panels = divideCeil(g.m, kernels.tileRows);
  for (int64_t start = 0; start < g.k; start += inner) {
    parallelFor(panels, leastRows / kernels.tileRows,
                [&](int64_t begin, int64_t end) {
                  packRows(0, start, begin * kernels.tileRows,
                           std::min(end * kernels.tileRows, g.m), scratch);
                });
    parallelTasks(tasks, /*grain=*/1, /*perThread=*/tasks,
                  [&](int64_t thread, int64_t begin, int64_t end) {
                    kernels.begin();
                    for (int64_t task = begin; task < end; ++task)
                      runTask(task, 0, start, scratch,
                              bPacks + thread * getThreadBytes());
                    kernels.end();
                  });
  }
}

//===----------------------------------------------------------------------===//
// One row, or one column
//===----------------------------------------------------------------------===//

/// The schedule for a matrix times a vector: nothing is packed, and threads
/// divide the lines of the matrix, each of which becomes an element.
class Lines {
public:
  Lines(const Gemm &g, const Kernels &kernels);

  bool fits() const { return doesFit; }
  void run() const;

private:
  void finish(int64_t batch, int64_t first, int64_t count,
              const float *sums) const;

  const Gemm &g;
  const Kernels &kernels;
  bool isColumn, doesFit;
  Elements matrix, vector;
  int64_t lines, lineStride, innerStride, matrixBatch, vectorBatch;
};

Lines::Lines(const Gemm &g, const Kernels &kernels)
    : g(g), kernels(kernels), isColumn(g.n == 1), matrix(isColumn ? g.a : g.b),
      vector(isColumn ? g.b : g.a), lines(isColumn ? g.m : g.n),
      lineStride(isColumn ? g.aRow : g.bColumn),
      innerStride(isColumn ? g.aInner : g.bInner),
      matrixBatch(isColumn ? g.aBatch : g.bBatch),
      vectorBatch(isColumn ? g.bBatch : g.aBatch) {
  doesFit = !g.b.encoded && kernels.multiplyVector && (g.m == 1 || g.n == 1) &&
            (isColumn ? g.bInner : g.aInner) == 1;
}

/// Writes complete sums, and applies the epilogue to them.
void Lines::finish(int64_t batch, int64_t first, int64_t count,
                   const float *sums) const {
  int64_t row = isColumn ? first : 0, column = isColumn ? 0 : first;
  if (g.roundedType != INGOT_F32) {
    uint16_t rounded[kGemvMostLines];
    kernels.round(sums, g.roundedType, rounded, count);
    uint16_t *to = g.rounded + (batch * g.m + row) * g.roundedRow + column;
    for (int64_t i = 0; i < count; ++i)
      to[isColumn ? i * g.roundedRow : i] = rounded[i];
  } else {
    float *to = g.c + batch * g.cBatch + row * g.cRow + column;
    for (int64_t i = 0; i < count; ++i)
      to[isColumn ? i * g.cRow : i] = sums[i];
  }
  if (!g.epilogue)
    return;
  int64_t firstRow = g.firstRow + batch * g.m + row;
  g.epilogue(g.buffers, firstRow, firstRow + (isColumn ? count : 1), column,
             column + (isColumn ? 1 : count));
}

void Lines::run() const {
  // Elements that are worth another thread.
  constexpr int64_t leastElements = 16384;
  int64_t inner = kernels.getInner(g.k);
  // Where lines are next to each other, many of them are read together, along
  // pages of memory.
  int64_t share = divideCeil(lines, kRangesPerThread * getThreadCount());
  int64_t piece =
      std::clamp(alignTo(share, kGemvLines), kGemvLines,
                 innerStride == 1 ? 4 * kGemvLines : kGemvMostLines);
  int64_t pieces = divideCeil(lines, piece);
  parallelFor(g.batch * pieces, divideCeil(leastElements, piece * g.k),
              [&](int64_t begin, int64_t end) {
                alignas(64) float sums[kGemvMostLines];
                for (int64_t i = begin; i < end; ++i) {
                  int64_t batch = i / pieces, first = i % pieces * piece;
                  int64_t count = std::min(piece, lines - first);
                  Elements own =
                      matrix + batch * matrixBatch + first * lineStride;
                  for (int64_t start = 0; start < g.k; start += inner)
                    kernels.multiplyVector(
                        own + start * innerStride, lineStride, innerStride,
                        count, vector + batch * vectorBatch + start,
                        std::min(inner, g.k - start), sums, start != 0);
                  finish(batch, first, count, sums);
                }
              });
}

} // namespace

bool ingot::runtime::canRound(const Gemm &g) {
  const Kernels &kernels = chooseKernels(g);
  if (Lines(g, kernels).fits())
    return true;
  if (SplitGemm(g, kernels).fits())
    return true;
  if (RegionGemm regions(g, kernels); regions.fits())
    return regions.isComplete();
  if (Panels panels(g, kernels); panels.fits())
    return panels.isWhole();
  return Blocks(g, kernels).isWhole();
}

size_t ingot::runtime::getGemmScratchBytes(const Gemm &g) {
  const Kernels &kernels = chooseKernels(g);
  if (Lines(g, kernels).fits())
    return 0;
  if (SplitGemm split(g, kernels); split.fits())
    return static_cast<size_t>(split.getScratchBytes());
  if (RegionGemm regions(g, kernels); regions.fits())
    return static_cast<size_t>(regions.getScratchBytes());
  if (Panels panels(g, kernels); panels.fits())
    return static_cast<size_t>(panels.getScratchBytes());
  Gemm part = g;
  if (g.batch == 1)
    part.m = std::min(g.m, kGemmPackedRows);
  return static_cast<size_t>(Blocks(part, kernels).getScratchBytes());
}

void ingot::runtime::runGemm(const Gemm &g, char *scratch) {
  const Kernels &kernels = chooseKernels(g);
  if (Lines lines(g, kernels); lines.fits())
    return lines.run();
  if (SplitGemm split(g, kernels); split.fits())
    return split.run(scratch);
  if (RegionGemm regions(g, kernels); regions.fits())
    return regions.run(scratch);
  if (Panels panels(g, kernels); panels.fits())
    return panels.run(scratch);
  if (g.batch > 1 || g.m <= kGemmPackedRows)
    return Blocks(g, kernels).run(scratch);
  Gemm part = g;
  for (int64_t row = 0; row < g.m; row += kGemmPackedRows) {
    part.m = std::min(kGemmPackedRows, g.m - row);
    part.a = g.a + row * g.aRow;
    part.c = g.c + row * g.cRow;
    if (g.rounded)
      part.rounded = g.rounded + row * g.roundedRow;
    part.firstRow = g.firstRow + row;
    Blocks(part, kernels).run(scratch);
  }
}
