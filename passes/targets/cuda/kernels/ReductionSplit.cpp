// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/kernels/ReductionSplit.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/targets/cuda/kernels/DeviceFunction.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

/// The rows that a block adds up at least, so that the partial sums are few
/// beside the rows.
static constexpr int64_t kRowsOfBlock = 16;

int64_t codegen::countLanes(TypeRange buffers) {
  int64_t most = 0, bytes = 1;
  for (Type type : buffers)
    most = std::max(most, cast<MemRefType>(type).getNumElements());
  for (Type type : buffers) {
    auto buffer = cast<MemRefType>(type);
    if (buffer.getNumElements() == most)
      bytes = std::max<int64_t>(
          bytes, llvm::divideCeil(buffer.getElementTypeBitWidth(), 8));
  }
  return std::max<int64_t>(1, 16 / bytes);
}

/// Returns how `length` elements of each of `sums` sums are split so that
/// `threads` have work, in groups of `group`; pieces are multiples of `unit`.
static std::pair<int64_t, int64_t> splitSums(int64_t sums, int64_t length,
                                             int64_t group, int64_t unit,
                                             int64_t threads) {
  // A thread adds this many elements at least before a second launch pays.
  constexpr int64_t minPerThread = 16;
  int64_t pieces = std::min<int64_t>(llvm::divideCeil(threads, sums * group),
                                     length / (group * minPerThread));
  if (pieces < 2)
    return {1, length};
  int64_t piece = llvm::alignTo(llvm::divideCeil(length, pieces), unit);
  return {llvm::divideCeil(length, piece), piece};
}

static ReductionSplit splitAlong(int64_t sums, int64_t length,
                                 int64_t threads) {
  constexpr int64_t shortRow = 8, longRow = 2048, unit = 16;
  ReductionSplit split;
  split.isAlong = true;
  split.group = length <= shortRow ? 1 : length <= longRow ? kWarp : kBlock;
  std::tie(split.pieces, split.piece) =
      splitSums(sums, length, split.group, unit, threads);
  return split;
}

ReductionSplit ReductionSplit::ofAll(int64_t length, Type accumulator,
                                     int64_t threads) {
  ReductionSplit split = splitAlong(1, length, threads);
  if (split.pieces > 1)
    split.partials = {MemRefType::get({split.pieces}, accumulator)};
  return split;
}

/// Returns the bytes of a partial result.
static int64_t countPartialBytes(Reduction root) {
  int64_t bytes = 0;
  for (Type type : root.getPartialTypes())
    bytes += llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  return bytes;
}

ReductionSplit ReductionSplit::of(const ReductionSpace &space, TypeRange inputs,
                                  int64_t threads) {
  SmallVector<int64_t> kept = space.sizes(space.kept);
  int64_t results = product(kept), length = product(space.sizes(space.reduced));
  ReductionSplit split;
  if (space.foldsInnermost()) {
    split = splitAlong(results, length, threads);
  } else {
    split.isAlong = false;
    int64_t lanes = countLanes(inputs), sumBytes = 0;
    split.lanes = kept.back() % lanes == 0 ? lanes : 1;
    for (Reduction root : space.roots)
      sumBytes += countPartialBytes(root);
    // Each thread has its sums of all lanes in shared memory at the end.
    while (split.lanes > 1 && kBlock * split.lanes * sumBytes > kMaxShared)
      split.lanes /= 2;
    split.columns =
        std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(results / split.lanes));
    split.group = kBlock / split.columns;
    while (split.group > 1 &&
           split.group * split.columns * split.lanes * sumBytes > kMaxShared)
      split.group /= 2;
    int64_t tiles = llvm::divideCeil(results, split.columns * split.lanes);
    std::tie(split.pieces, split.piece) = splitSums(
        tiles, length, split.group, /*unit=*/1, threads / split.columns);
  }
  if (split.pieces > 1)
    for (Reduction root : space.roots)
      for (Type type : root.getPartialTypes())
        split.partials.push_back(
            MemRefType::get({results * split.pieces}, type));
  return split;
}

bool RowSums::isSupported(int64_t rows, int64_t length) {
  // With fewer blocks a GPU is not full, and threads beyond a block's would
  // have to share a row.
  constexpr int64_t leastBlocks = 256, mostThreads = 512;
  return rows >= leastBlocks * kRowsOfBlock && length >= 2 * kWarp &&
         length <= mostThreads * kElements;
}

RowSums RowSums::of(Block &body, const RowSpace &space) {
  RowSums sums;
  for (OpOperand &result : body.getTerminator()->getOpOperands()) {
    Operation *op = result.get().getDefiningOp();
    if (!op || !space.isOverRows(op))
      continue;
    sums.results.push_back(result.getOperandNumber());
    sums.roots.push_back(cast<Reduction>(op));
  }
  if (sums.roots.empty())
    return sums;
  // As many as run at the same time: more would write more partial rows.
  constexpr int64_t mostBlocks = 512;
  sums.blocks = std::clamp<int64_t>(space.rows / kRowsOfBlock, 1, mostBlocks);
  for (Reduction root : sums.roots)
    sums.partials.push_back(MemRefType::get({sums.blocks * space.length},
                                            root.getPartialTypes().front()));
  return sums;
}

int64_t codegen::countAlignedBytes(ArrayRef<MemRefType> buffers) {
  int64_t bytes = 0;
  for (MemRefType buffer : buffers)
    bytes += llvm::alignTo(byteSize(buffer), INGOT_ALIGNMENT);
  return bytes;
}
