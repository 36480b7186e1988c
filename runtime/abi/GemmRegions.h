// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How a GEMM on vector units is divided into regions of its result, one for
// each thread (runtime/cpu/gemm/RegionGemm.h), and what that takes of memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_GEMMREGIONS_H
#define INGOT_RUNTIME_ABI_GEMMREGIONS_H

#include "runtime/abi/Blocking.h"

namespace ingot::abi {

/// The rows and columns of a region are those of one thread. Its columns are
/// divided into groups, for which a thread keeps packed blocks of b, and the
/// rows of a group into tasks, which pack panels of a. Sizes are in elements,
/// panels (tileRows rows) and tiles (tileColumns columns).
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
    divideRegion(std::min(kGemmGroupBytes, kGemmAllGroupBytes / threads));
  }

  /// The blocks of the inner dimension in `size`.
  constexpr int64_t countSteps(int64_t size) const {
    return divideCeil(size, inner);
  }
  /// Bytes of a packed panel and of a packed block, with `inner` elements of
  /// the inner dimension.
  constexpr int64_t getPanelBytes() const {
    return blocking.tileRows * blocking.getLineBytes(inner);
  }
  constexpr int64_t getBlockBytes() const {
    return columns * blocking.getLineBytes(inner);
  }
  /// Bytes of the packed blocks of a group.
  constexpr int64_t getGroupBytes() const {
    return alignTo(blocks * countSteps(depth) * getBlockBytes(),
                   INGOT_ALIGNMENT);
  }
  /// Panels of the inner dimension that are kept of a panel of rows.
  constexpr int64_t countKeptSteps() const {
    return completes ? countSteps(k) : 1;
  }
  /// Bytes of the packed panels of a task. They are kept for the next block of
  /// columns, if there is one.
  constexpr int64_t getTaskBytes() const {
    return (blocks == 1 ? 1 : taskPanels * countKeptSteps()) * getPanelBytes();
  }
  /// Bytes of a thread: of packed operands, and of sums that are rounded.
  constexpr int64_t getThreadBytes() const {
    int64_t sums = rounds && completes ? blocking.tileRows * columns * 4 : 0;
    return alignTo(getGroupBytes() + getTaskBytes() + sums, INGOT_ALIGNMENT);
  }

  GemmBlocking blocking;
  bool rounds;
  int64_t k, inner;
  int64_t panels, tiles;
  /// Regions along the rows and along the columns, and their extents.
  int64_t rowRegions = 1, columnRegions = 1, regionPanels = 1, regionTiles = 1;
  /// Whether all of the inner dimension of a block of b stays in the L2 cache:
  /// then the sums of a panel are complete before those of the next one begin.
  bool completes = false;
  /// The columns of a block, and the inner extent of a group.
  int64_t columns = 0, depth = 0;
  /// Groups of a region, blocks and tasks of a group, panels of a task.
  int64_t groups = 1, blocks = 1, groupTasks = 1, taskPanels = 1;

private:
  constexpr void divide(bool hasRows, int64_t threads) {
    // Products that are worth another thread, and products that take as long as
    // to pack an element: more in a panel of a, which is packed between
    // multiplications, and more again from far apart.
    constexpr int64_t leastProducts = 1 << 18, packB = 6;
    int64_t packA = hasRows ? 12 : 32;
    int64_t rows = panels * blocking.tileRows;
    int64_t width = tiles * blocking.tileColumns;
    threads = std::clamp<int64_t>(rows * width / divideCeil(leastProducts, k),
                                  1, threads);
    int64_t best = 0;
    for (int64_t alongRows = 1; alongRows <= std::min(threads, panels);
         ++alongRows) {
      int64_t alongColumns = std::min(threads / alongRows, tiles);
      rows = divideCeil(panels, alongRows) * blocking.tileRows;
      width = divideCeil(tiles, alongColumns) * blocking.tileColumns;
      int64_t cost = rows * width + packA * rows + packB * width;
      if (alongRows > 1 && cost >= best)
        continue;
      best = cost;
      rowRegions = alongRows;
      columnRegions = alongColumns;
    }
    regionPanels = divideCeil(panels, rowRegions);
    regionTiles = divideCeil(tiles, columnRegions);
  }

  constexpr void divideRegion(int64_t groupBytes) {
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
    // A thread that is held up delays the others by one task.
    constexpr int64_t leastPanels = 4, wantedTasks = 8;
    int64_t mostPanels = regionPanels;
    if (blocks > 1)
      mostPanels = std::max<int64_t>(
          kGemmKeptBytes / (countKeptSteps() * getPanelBytes()), 1);
    int64_t tasks =
        std::max({std::min(regionPanels / leastPanels, wantedTasks),
                  divideCeil(regionPanels, mostPanels), int64_t(1)});
    taskPanels = divideCeil(regionPanels, tasks);
    groupTasks = divideCeil(regionPanels, taskPanels);
  }
};

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_GEMMREGIONS_H
