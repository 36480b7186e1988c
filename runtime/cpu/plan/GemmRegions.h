// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a GEMM on vector units is divided into regions of its result, one for
// each thread (runtime/cpu/gemm/RegionGemm.h), and what that takes of memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_PLAN_GEMMREGIONS_H
#define INGOT_RUNTIME_CPU_PLAN_GEMMREGIONS_H

#include "runtime/cpu/plan/Blocking.h"

namespace ingot::cpu {

/// The rows and columns of a region are those of one thread, which keeps one of
/// its operands packed and packs panels of the other one between tiles. Either
/// it keeps blocks of b, for a group of the region's columns, and the rows are
/// divided into tasks; or it keeps all rows, where these are few, and the
/// columns are divided into tasks. Sizes are in elements, panels (tileRows
/// rows) and tiles (tileColumns columns).
struct GemmRegions {
  /// The sizes of the GEMM; whether rows of a are contiguous, and whether sums
  /// are rounded to 16 bits.
  struct Sizes {
    int64_t m, n, k;
    bool hasRows, rounds;
  };

  constexpr GemmRegions(const GemmBlocking &blocking, const Sizes &sizes,
                        int64_t threads)
      : blocking(blocking), rounds(sizes.rounds),
        k(std::max<int64_t>(sizes.k, 1)), inner(blocking.getInner(k)),
        panels(divideCeil(std::max<int64_t>(sizes.m, 1), blocking.tileRows)),
        tiles(divideCeil(std::max<int64_t>(sizes.n, 1), blocking.tileColumns)) {
    divide(sizes.hasRows, threads);
    if (keepsRows)
      divideColumns();
    else
      divideRows(std::min(kGemmGroupBytes, kGemmAllGroupBytes / threads));
  }

  /// The blocks of the inner dimension in `size`.
  constexpr int64_t countSteps(int64_t size) const {
    return divideCeil(size, inner);
  }
  /// Bytes of a packed panel, of a packed tile's columns and of a packed block,
  /// with `inner` elements of the inner dimension.
  constexpr int64_t getPanelBytes() const {
    return blocking.tileRows * blocking.getLineBytes(inner);
  }
  constexpr int64_t getTileBytes() const {
    return blocking.tileColumns * blocking.getLineBytes(inner);
  }
  constexpr int64_t getBlockBytes() const {
    return columns * blocking.getLineBytes(inner);
  }
  /// Bytes that are packed for all tasks of a thread: the blocks of a group, or
  /// all rows.
  constexpr int64_t getKeptBytes() const {
    int64_t step =
        keepsRows ? regionPanels * getPanelBytes() : blocks * getBlockBytes();
    return alignTo(countSteps(depth) * step, INGOT_ALIGNMENT);
  }
  /// Panels of the inner dimension that are kept of a panel of rows, where the
  /// blocks of a group are several.
  constexpr int64_t countKeptSteps() const {
    return completes ? countSteps(k) : 1;
  }
  /// The packed panels or tiles that a thread works with: if they are packed
  /// between tiles, one of two is packed while the other one is multiplied.
  constexpr int64_t countBuffers() const {
    return blocking.packStep != 0 ? 2 : 1;
  }
  /// Bytes of the packed panels or tiles of a task; all panels, where they are
  /// kept for the next block of columns.
  constexpr int64_t getTaskBytes() const {
    if (keepsRows)
      return countBuffers() * getTileBytes();
    return (blocks == 1 ? countBuffers() : taskPanels * countKeptSteps()) *
           getPanelBytes();
  }
  /// Bytes of a thread: of packed operands, and of sums that are rounded.
  constexpr int64_t getThreadBytes() const {
    int64_t sums = rounds && completes ? blocking.tileRows * columns * 4 : 0;
    return alignTo(getKeptBytes() + getTaskBytes() + sums, INGOT_ALIGNMENT);
  }

  GemmBlocking blocking;
  bool rounds;
  int64_t k, inner;
  int64_t panels, tiles;
  /// Regions along the rows and along the columns, and their extents.
  int64_t rowRegions = 1, columnRegions = 1, regionPanels = 1, regionTiles = 1;
  /// Whether a thread keeps its rows, and packs b a tile at a time.
  bool keepsRows = false;
  /// The inner extent of what is kept.
  int64_t depth = 0;
  /// Tasks of a group, or of a region whose rows are kept.
  int64_t groupTasks = 1;

  /// Where rows are kept: the tiles of a task.
  int64_t taskTiles = 1;

  /// Elsewhere: whether all of the inner dimension of a block of b stays in the
  /// L2 cache: then the sums of a panel are complete before those of the next
  /// one begin.
  bool completes = false;
  /// The columns of a block.
  int64_t columns = 0;
  /// Groups of a region, blocks of a group, panels of a task.
  int64_t groups = 1, blocks = 1, taskPanels = 1;

private:
  /// A thread that is held up delays the others by one task.
  static constexpr int64_t kWantedTasks = 8;

  /// Whether `count` packed panels stay in the L2 cache.
  constexpr bool canKeep(int64_t count) const {
    return !rounds && blocking.packStep != 0 &&
           count * getPanelBytes() <= blocking.getBlockBytes();
  }

  constexpr void divide(bool hasRows, int64_t threads) {
    // Products that are worth another thread, and products that take as long as
    // to pack an element: of rows or blocks that are kept, of a tile of b, and
    // of a panel of a, whose rows may not be contiguous. Where rows are kept,
    // each tile is in other rows of c than the tile before, which costs every
    // element of c as much as changeRows products. Measured with AVX-512.
    constexpr int64_t leastProducts = 1 << 18, packRows = 45, packTile = 16,
                      changeRows = 10;
    int64_t packBlocks = 36, packPanel = hasRows ? 20 : 45;
    if (blocking.packStep == 0) {
      // Nothing is packed between tiles, on units that multiply more slowly.
      packBlocks = 6;
      packPanel = hasRows ? 12 : 32;
    }
    int64_t rows = panels * blocking.tileRows;
    int64_t width = tiles * blocking.tileColumns;
    threads = std::clamp<int64_t>(rows * width / divideCeil(leastProducts, k),
                                  1, threads);
    int64_t best = -1;
    for (int64_t alongRows = 1; alongRows <= std::min(threads, panels);
         ++alongRows) {
      int64_t alongColumns = std::min(threads / alongRows, tiles);
      int64_t share = divideCeil(panels, alongRows);
      rows = share * blocking.tileRows;
      width = divideCeil(tiles, alongColumns) * blocking.tileColumns;
      int64_t costs[] = {packPanel * rows + packBlocks * width,
                         packRows * rows + packTile * width +
                             changeRows * rows * width / inner};
      bool keeps = canKeep(share) && costs[1] < costs[0];
      int64_t cost = rows * width + costs[keeps];
      if (best >= 0 && cost >= best)
        continue;
      best = cost;
      keepsRows = keeps;
      rowRegions = alongRows;
      columnRegions = alongColumns;
    }
    regionPanels = divideCeil(panels, rowRegions);
    regionTiles = divideCeil(tiles, columnRegions);
  }

  constexpr void divideColumns() {
    // The first tile of a task is packed while nothing is multiplied.
    constexpr int64_t leastTiles = 4;
    int64_t mostSteps = std::max<int64_t>(
        blocking.getBlockBytes() / (regionPanels * getPanelBytes()), 1);
    int64_t steps = countSteps(k);
    depth = divideCeil(steps, divideCeil(steps, mostSteps)) * inner;
    int64_t tasks =
        std::clamp<int64_t>(regionTiles / leastTiles, 1, kWantedTasks);
    taskTiles = divideCeil(regionTiles, tasks);
    groupTasks = divideCeil(regionTiles, taskTiles);
  }

  constexpr void divideRows(int64_t groupBytes) {
    // Columns that are enough for a panel of a not to be read too often.
    constexpr int64_t leastColumns = 256;
    int64_t width = regionTiles * blocking.tileColumns;
    int64_t most = blocking.getBlockBytes() / blocking.getLineBytes(k);
    completes = most >= std::min(width, leastColumns);
    columns = std::min(blocking.columns, width);
    if (completes)
      columns =
          std::min(columns, most / blocking.tileColumns * blocking.tileColumns);
    // A group has all columns of the region if possible, so that panels of a
    // are packed once; it has less of the inner dimension for that.
    depth = k;
    if (!completes) {
      int64_t mostSteps = std::max<int64_t>(
          groupBytes / width / blocking.getLineBytes(inner), 1);
      depth = divideCeil(countSteps(k), divideCeil(countSteps(k), mostSteps)) *
              inner;
    }
    // Groups, blocks and tasks are equal.
    int64_t kept = std::max(groupBytes / blocking.getLineBytes(depth), columns);
    groups = divideCeil(width, kept);
    blocks = divideCeil(divideCeil(width, groups), columns);
    columns = divideCeil(regionTiles, groups * blocks) * blocking.tileColumns;
    constexpr int64_t leastPanels = 4;
    int64_t mostPanels = regionPanels;
    if (blocks > 1)
      mostPanels = std::max<int64_t>(
          kGemmKeptBytes / (countKeptSteps() * getPanelBytes()), 1);
    int64_t tasks =
        std::max({std::min(regionPanels / leastPanels, kWantedTasks),
                  divideCeil(regionPanels, mostPanels), int64_t(1)});
    taskPanels = divideCeil(regionPanels, tasks);
    groupTasks = divideCeil(regionPanels, taskPanels);
  }
};

} // namespace ingot::cpu

#endif // INGOT_RUNTIME_CPU_PLAN_GEMMREGIONS_H
