// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the CPU's kernels cut their work into pieces that fit into registers and
// caches. The planner computes scratch memory from these figures (Scratch.h),
// the kernels of runtime/cpu their loops: each figure stands here only.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_PLAN_BLOCKING_H
#define INGOT_RUNTIME_CPU_PLAN_BLOCKING_H

#include "runtime/abi/Abi.h"
#include "runtime/abi/Align.h"

#include <algorithm>

namespace ingot::cpu {

using abi::alignTo;
using abi::divideCeil;

/// The L1 data cache that blocks are made for.
inline constexpr int64_t kL1Bytes = 32 << 10;

//===----------------------------------------------------------------------===//
// GEMM (runtime/cpu/gemm)
//===----------------------------------------------------------------------===//

/// The blocking of a packed GEMM, c = a x b, in elements. A tile of c is
/// computed from a panel of a, packed as tileRows lines, and a panel of b,
/// packed as tileColumns lines.
struct GemmBlocking {
  /// Rows and columns of the tile of c whose sums stay in registers.
  int64_t tileRows, tileColumns;
  /// Extents of a packed block of b, about inner x columns, which stays in the
  /// L2 cache beside a panel of a, tileRows x inner.
  int64_t inner, columns;
  /// Packed lines are padded with zeros to a multiple of this inner extent.
  int64_t step;
  /// Bytes of one packed element.
  int64_t elementBytes;
  /// Panels are packed between tiles, in parts whose inner extents are
  /// multiples of this; 0 if they are packed at once: because they have to be,
  /// or because units are so slow that packing is a small part of the time.
  int64_t packStep;

  /// Bytes of a packed line, a row of a or a column of b, of `size` elements.
  constexpr int64_t getLineBytes(int64_t size) const {
    return alignTo(size, step) * elementBytes;
  }
  /// The most that getInner returns: a little more than `inner`, rather than
  /// another block for a small rest.
  constexpr int64_t getMostInner() const {
    return alignTo(inner + inner / 8, step);
  }
  /// The inner extent of the blocks of an inner dimension of `size`, which are
  /// equal: each of them reads and writes all sums, however small it is.
  constexpr int64_t getInner(int64_t size) const {
    size = std::max<int64_t>(size, 1);
    int64_t blocks = divideCeil(size, getMostInner());
    return std::min(size, alignTo(divideCeil(size, blocks), step));
  }
  constexpr int64_t getPanelBytes() const {
    return tileRows * getLineBytes(getMostInner());
  }
  constexpr int64_t getBlockBytes() const {
    return columns * getLineBytes(getMostInner());
  }
};

/// The blocking for vector units with AVX-512, which multiply f32: 24 of the 32
/// registers hold sums.
inline constexpr GemmBlocking kVectorBlocking = {
    .tileRows = 12,
    .tileColumns = 32,
    .inner = 384,
    .columns = 480,
    .step = 1,
    .elementBytes = 4,
    .packStep = 16,
};

/// Blocking of operands in bf16 on CPUs that multiply pairs of them.
inline constexpr GemmBlocking kDotBlocking = {
    .tileRows = 12,
    .tileColumns = 32,
    .inner = 768,
    .columns = 480,
    .step = 2,
    .elementBytes = 2,
    .packStep = 32,
};

/// The blocking for vector units with AVX2 (`lanes` is 8), whose 16 registers
/// hold 12 vectors of sums, and for those that every CPU has (4). Blocks are
/// smaller than with AVX-512, as the caches of these CPUs are.
constexpr GemmBlocking getNarrowBlocking(int64_t lanes) {
  return {
      .tileRows = 6,
      .tileColumns = 2 * lanes,
      .inner = 256,
      .columns = 480,
      .step = 1,
      .elementBytes = 4,
      .packStep = 0,
  };
}

/// The blocking for one level of Strassen's algorithm on units of `blocking`: a
/// tile of four of theirs, for which seven factors of a fourth of the panel's
/// size are packed.
constexpr GemmBlocking getStrassenBlocking(const GemmBlocking &blocking) {
  return {
      .tileRows = 2 * blocking.tileRows,
      .tileColumns = 2 * blocking.tileColumns,
      .inner = 512,
      .columns = 448,
      .step = 2,
      .elementBytes = 7,
      .packStep = 0,
  };
}

/// How many numbers in bf16 represent an element of `type` on tile units.
constexpr int64_t getTileParts(int32_t type) {
  return type == INGOT_F32 ? 3 : type == INGOT_F16 ? 2 : 1;
}

/// The blocking for tile units (AMX), which multiply bf16, for operands of
/// `type`: four of the eight tile registers, 16 rows of 64 bytes each, hold a
/// tile of sums, and a row holds 32 elements of the inner dimension.
constexpr GemmBlocking getTileBlocking(int32_t type) {
  int64_t parts = getTileParts(type);
  return {
      .tileRows = 32,
      .tileColumns = 32,
      .inner = parts == 1 ? 768 : 384,
      .columns = 480,
      .step = 32,
      .elementBytes = 2 * parts,
      .packStep = 0,
  };
}

/// Rows of a that are packed at a time, so that the pack does not grow with the
/// GEMM.
inline constexpr int64_t kGemmPackedRows = 8192;
/// Bytes of packed blocks of b that a thread keeps for tasks of several rows,
/// and that all threads keep; they come from the outer caches, a block at a
/// time.
inline constexpr int64_t kGemmGroupBytes = 2 << 20;
inline constexpr int64_t kGemmAllGroupBytes = 32 << 20;
/// The number of rows from which on threads divide rows rather than columns of
/// several blocks, although they then wait for each other at every block.
inline constexpr int64_t kGemmManyRows = 1024;
/// Bytes of the L2 cache that a packed block of b may take where threads share
/// it.
inline constexpr int64_t kGemmBlockBytes = 5 << 18;
/// Columns up to which a shared block of b holds all columns of b, for which it
/// then holds less of the inner dimension.
inline constexpr int64_t kGemmWideColumns = 768;
/// Bytes of packed panels of a that a thread keeps from one shared block of b
/// to the next.
inline constexpr int64_t kGemmKeptBytes = 850 << 10;

/// Parts of the inner dimension of a GEMM on vector units that is split
/// (split-K), each with sums of its own; as many for any number of threads, so
/// that sums have the same order.
inline constexpr int64_t kGemmParts = 16;
/// Whether a GEMM is split: the inner dimension is long, also compared with the
/// others, and sums of a part stay in the L2 cache.
constexpr bool isSplit(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t mostSums = 1 << 16, leastInner = 192, leastRatio = 8;
  return m * n <= mostSums && k >= kGemmParts * leastInner &&
         k >= leastRatio * (m + n);
}

/// Whether a packed block of b fits into its part of the L2 cache, and consists
/// of whole tiles and steps.
constexpr bool isValid(const GemmBlocking &blocking) {
  return blocking.getBlockBytes() <= kGemmBlockBytes &&
         blocking.columns % blocking.tileColumns == 0 &&
         blocking.inner % blocking.step == 0;
}
static_assert(isValid(kVectorBlocking));
static_assert(isValid(kDotBlocking));
static_assert(isValid(getNarrowBlocking(8)));
static_assert(isValid(getNarrowBlocking(4)));
static_assert(isValid(getTileBlocking(INGOT_F32)));
static_assert(isValid(getTileBlocking(INGOT_F16)));
static_assert(isValid(getTileBlocking(INGOT_BF16)));
/// A panel of a stays in the L1 cache.
static_assert(kVectorBlocking.getPanelBytes() <= kL1Bytes);

//===----------------------------------------------------------------------===//
// Attention (runtime/cpu/attention)
//===----------------------------------------------------------------------===//

struct AttentionBlocking {
  /// Rows of a block of queries, and of a block of keys: scores of one block
  /// against the other stay in the L1 cache.
  static constexpr int64_t kQueries = 96, kKeys = 64;
  /// Blocking of the forward pass on vector units: it packs a block of keys for
  /// up to this number of queries, and scores of one strip of queries against
  /// the keys stay in the L1 cache.
  static constexpr int64_t kForwardQueries = 192, kForwardKeys = 256;
  /// Packed rows are padded with zeros to a multiple of this many elements: a
  /// tile of either GEMM.
  static constexpr int64_t kColumns = 32;
  /// Numbers, 8 MiB of f32, that the gradients of all queries which share keys
  /// may take in the scratch memory of a thread.
  static constexpr int64_t kMostQuerySums = 2 << 20;

  /// The queries of a task of the forward pass on vector units, in whole tiles:
  /// blocks are equal, and smaller where there are few heads.
  static constexpr int64_t forwardQueries(int64_t heads, int64_t queries) {
    constexpr int64_t leastTasks = 8, leastQueries = 48;
    int64_t wanted =
        std::min(divideCeil(leastTasks, std::max<int64_t>(heads, 1)),
                 divideCeil(queries, leastQueries));
    int64_t blocks =
        std::max({divideCeil(queries, kForwardQueries), wanted, int64_t(1)});
    return std::max(
        alignTo(divideCeil(queries, blocks), kVectorBlocking.tileRows),
        kVectorBlocking.tileRows);
  }
};
static_assert(AttentionBlocking::kForwardQueries % kVectorBlocking.tileRows ==
              0);
static_assert(kVectorBlocking.tileRows * AttentionBlocking::kForwardKeys * 4 <=
              kL1Bytes / 2);
static_assert(AttentionBlocking::kQueries * AttentionBlocking::kKeys * 4 <=
              kL1Bytes);
static_assert(AttentionBlocking::kKeys % AttentionBlocking::kColumns == 0);

/// Whether blocks of attention consist of whole tiles of the GEMM.
constexpr bool dividesAttention(const GemmBlocking &blocking) {
  return AttentionBlocking::kQueries % blocking.tileRows == 0 &&
         AttentionBlocking::kColumns % blocking.tileColumns == 0;
}
static_assert(dividesAttention(kVectorBlocking));
static_assert(dividesAttention(getNarrowBlocking(8)));
static_assert(dividesAttention(getNarrowBlocking(4)));
static_assert(dividesAttention(getTileBlocking(INGOT_F32)));

//===----------------------------------------------------------------------===//
// Convolution (runtime/cpu/winograd, runtime/cpu/convolution)
//===----------------------------------------------------------------------===//

/// The blocking of a 3 x 3 convolution by Winograd's F(4 x 4, 3 x 3).
/// Transformed tiles are made and used a block at a time. Where there are
/// enough of them, each thread has blocks of its own, since what one core
/// writes and another reads passes between their caches; in the gradient of the
/// filter it has sums of its own then. Otherwise threads share each block,
/// which has as many tiles as there are output channels, so that tiles and
/// filters take the same share of the cache. Transformed filters, and their
/// gradients, lie in panels of kColumns filters, each [points][in
/// channels][kColumns]; with one block of tiles a panel is used once, and only
/// one for each thread is kept. Sizes are in elements.
struct WinogradBlocking {
  /// Extents along one dimension of a filter, and of a tile of the output and
  /// of the input; elements of a transformed tile.
  static constexpr int64_t kTaps = 3, kOut = 4, kIn = kOut + kTaps - 1,
                           kPoints = kIn * kIn;
  /// Channels in a vector register; filters in a panel, and tiles (rows) that a
  /// kernel multiplies with it, whose sums stay in registers.
  static constexpr int64_t kLanes = 16, kColumns = 2 * kLanes, kRows = 12;

  constexpr WinogradBlocking(int64_t tiles, int64_t inChannels,
                             int64_t outChannels, int64_t threads,
                             bool isFilterGrad)
      : threads(threads), panels(divideCeil(outChannels, kColumns)),
        filterPanel(kPoints * inChannels * kColumns) {
    // Where filters take little of a thread's cache, tiles of a block that it
    // has for itself; of a block that is shared, at least. Parts whose
    // gradients are summed apart, and elements of all these sums.
    constexpr int64_t fewChannels = 128, ownTiles = 48, leastTiles = 60;
    constexpr int64_t mostParts = 4, mostSums = 5 << 18;
    int64_t shared = alignTo(std::max(outChannels, leastTiles), kRows);
    int64_t own = outChannels <= fewChannels ? ownTiles : shared;
    if (isFilterGrad) {
      int64_t sums = panels * filterPanel;
      parts = mostParts;
      while (parts > 1 && (parts * sums > mostSums || parts * own > tiles))
        parts /= 2;
    }
    isShared =
        isFilterGrad ? parts < threads : divideCeil(tiles, own) < threads;
    bool isOwn = isFilterGrad ? parts > 1 : !isShared;
    block = std::min(tiles, isOwn ? own : shared);
    isOneBlock = block == tiles;
    filters = (isOneBlock ? threads : panels * parts) * filterPanel;
    int64_t rows = alignTo(block, kRows);
    inPoint = rows * inChannels + kLanes;
    outPoint = rows * kColumns + kLanes;
    // The products of a panel, or the gradient of all output channels.
    others = kPoints * outPoint * (isFilterGrad ? panels : 1);
    othersOffset = getInOffset(isShared ? 1 : threads);
    size = othersOffset + (isFilterGrad && isShared ? 1 : threads) * others;
  }

  /// Where the scratch memory has the transformed input of a block that is
  /// computed at the same time as others, after the filters; and what is
  /// multiplied to or with it.
  constexpr int64_t getInOffset(int64_t index) const {
    return filters + index * kPoints * inPoint;
  }
  constexpr int64_t getOthersOffset(int64_t index) const {
    return othersOffset + index * others;
  }

  int64_t threads;
  /// Panels of filters, and the size of one and of all that are kept.
  int64_t panels, filterPanel, filters = 0;
  /// Tiles of a block, and whether that is all of them.
  int64_t block = 0;
  bool isOneBlock = false;
  /// Parts of the tiles whose gradients of the filters are summed apart; as
  /// many for any number of threads, as are the blocks of a part.
  int64_t parts = 1;
  /// Whether all threads work on one block at a time; otherwise each has its
  /// own.
  bool isShared = false;
  /// The distance from one point to the next in the transformed input, and in
  /// products and the transformed output. It is no power of two, so that points
  /// do not fall into the same cache sets.
  int64_t inPoint = 0, outPoint = 0;
  int64_t others = 0, othersOffset = 0;
  /// The size of the scratch memory in bytes.
  int64_t size = 0;
};

/// Bytes of windows that a convolution as a GEMM gathers at a time (im2col).
inline constexpr int64_t kIm2colBytes = 10 << 20;

/// Direct convolution (runtime/cpu/direct). Elements of a sum that are added
/// one by one, before the sum is added to the result; columns of a row that are
/// one piece of work; and packed filters that stay in the L2 cache.
inline constexpr int64_t kDirectDepth = 384, kDirectColumns = 192,
                         kDirectFilters = 96 << 10;
/// For the filter's gradient: pixels that are multiplied at once, so that what
/// they read stays in the L1 cache, and the most rows that they are from.
inline constexpr int64_t kDirectGradPixels = 112, kDirectGradRows = 32;
/// The distance in bytes from a pixel to the next at which too many pixels fall
/// into the same sets of the L1 cache, of a tile's rows and of the pixels that
/// a filter's gradient sums; and elements that are put between them there.
inline constexpr int64_t kDirectConflict = 4096, kDirectGradConflict = 256,
                         kDirectPadding = 16;

/// The channels whose sums over images are one piece of work in depthwise
/// convolution (runtime/cpu/depthwise).
inline constexpr int64_t kDepthwiseBlock = 64;

} // namespace ingot::cpu

#endif // INGOT_RUNTIME_CPU_PLAN_BLOCKING_H
