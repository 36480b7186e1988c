// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// PrefetchStreams: inserts software prefetch into loops that stream from
// memory.
//
// Hardware prefetchers track a few streams of adjacent lines, and do not run
// far ahead: a loop over one array reads at half the memory bandwidth or less.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/targets/cpu/Passes.h"
#include "passes/targets/cpu/streams/Streams.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_PREFETCHSTREAMS
#include "passes/targets/cpu/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot::codegen;

namespace {

constexpr int64_t kLineBytes = 64;

/// Returns the trip count of the loop, if it is known.
std::optional<int64_t> findLength(scf::ForOp loop) {
  APInt lower, upper;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return std::nullopt;
  return upper.getSExtValue() - lower.getSExtValue();
}

/// An index into a buffer with stride 1.
struct Stream {
  Value buffer, index;
  /// The distance from an element to the one that is prefetched with it.
  int64_t distance;
  /// Whether the loop reads a row that a loop before it has read.
  bool isAgain;

  bool operator==(const Stream &other) const {
    return buffer == other.buffer && index == other.index;
  }
};

struct PrefetchStreams : ingot::impl::PrefetchStreamsBase<PrefetchStreams> {
  using PrefetchStreamsBase::PrefetchStreamsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    int64_t bytes = 0;
    for (Type type : function.getArgumentTypes())
      if (auto buffer = dyn_cast<MemRefType>(type))
        bytes += bytesOf(buffer);
    auto asks = [](memref::PrefetchOp) { return WalkResult::interrupt(); };
    if (bytes < leastBytes || function.walk(asks).wasInterrupted())
      return;
    for (scf::ForOp loop : findInnermostLoops(function)) {
      SmallVector<Stream> streams = findStreams(loop);
      if (streams.empty())
        continue;
      auto options = ingot::remarkOptions(getArgument(), "Prefetch");
      // A loop that reads from the cache leaves memory idle, which no processor
      // uses for the next row by itself.
      if (mostStreams == 0 &&
          llvm::any_of(streams, [](Stream s) { return s.isAgain; }))
        llvm::erase_if(streams, [](Stream s) { return !s.isAgain; });
      else if (streams.size() > static_cast<size_t>(mostStreams)) {
        remark::missed(loop.getLoc(), options)
            << remark::reason(
                   mostStreams > 0
                       ? "the loop reads enough arrays to keep memory busy"
                       : "the processor prefetches as well by itself")
            << remark::metric("arrays", streams.size());
        continue;
      }
      remark::passed(loop.getLoc(), options)
          << remark::metric("arrays", streams.size());
      cut(loop, streams);
    }
  }

private:
  /// Returns the unit-stride accesses of every iteration to buffers that are
  /// large enough.
  SmallVector<Stream> findStreams(scf::ForOp loop) {
    SmallVector<Stream> streams;
    auto add = [&](Value buffer, ValueRange index) {
      if (!isa<BlockArgument>(buffer) || index.size() != 1 ||
          bytesOf(cast<MemRefType>(buffer.getType())) < leastBytes / 16 ||
          findStride(index.front(), loop) != 1)
        return;
      Stream stream = {buffer, index.front(), 0, false};
      std::optional<int64_t> distance =
          findDistance(buffer, index.front(), loop, stream.isAgain);
      if (!distance)
        return;
      stream.distance = *distance;
      if (!llvm::is_contained(streams, stream))
        streams.push_back(stream);
    };
    for (Operation &op : loop.getBody()->without_terminator())
      if (auto load = dyn_cast<memref::LoadOp>(op))
        add(load.getMemRef(), load.getIndices());
      else if (auto store = dyn_cast<memref::StoreOp>(op))
        add(store.getMemRef(), store.getIndices());
    return streams;
  }

  /// Returns the prefetch distance, about a piece: in the loop, or in later
  /// iterations of the loop around a short loop. Where these are apart, the
  /// processor stops at the end of each by itself: two pieces. `isAgain`
  /// becomes true for the next row.
  std::optional<int64_t> findDistance(Value buffer, Value index,
                                      scf::ForOp loop, bool &isAgain) {
    std::optional<int64_t> length = findLength(loop);
    auto around = loop->getParentOfType<scf::ForOp>();
    if (!length || !around)
      return piece;
    std::optional<int64_t> stride = findStride(index, around);
    if (stride && isReadBefore(buffer, *stride, loop, around)) {
      isAgain = true;
      return *stride;
    }
    if (*length > piece)
      return piece;
    if (!stride || *length <= 0)
      return std::nullopt;
    int64_t ahead = *stride > *length ? 2 * piece : piece;
    return *stride * std::max<int64_t>(1, ahead / *length);
  }

  /// Whether a loop before this one in the same iteration of `around` reads the
  /// same row, and the next row fits into the second-level cache: this loop
  /// then has nothing to wait for, and prefetches the next row.
  static bool isReadBefore(Value buffer, int64_t stride, scf::ForOp loop,
                           scf::ForOp around) {
    constexpr int64_t mostBytes = 256 << 10;
    auto type = cast<MemRefType>(buffer.getType());
    if (stride <= 0 || loop->getParentOp() != around ||
        stride * bytesOf(type) / type.getNumElements() > mostBytes)
      return false;
    auto reads = [&](memref::LoadOp load) {
      return load.getMemRef() == buffer && load.getIndices().size() == 1 &&
                     findStride(load.getIndices().front(), around) == stride
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    };
    for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode())
      if (isa<scf::ForOp>(op) && op->walk(reads).wasInterrupted())
        return true;
    return false;
  }

  /// Splits the loop into pieces, each of which prefetches the next one.
  void cut(scf::ForOp loop, ArrayRef<Stream> streams) {
    Location loc = loop.getLoc();
    scf::ForOp pieces = cutLoop(loop, piece);
    OpBuilder builder(loop);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value from = pieces.getInductionVar(), to = loop.getUpperBound();
    // The number of elements of a cache line, and the streams of such elements.
    llvm::MapVector<int64_t, SmallVector<Stream>> byLine;
    for (const Stream &stream : streams) {
      auto type = cast<MemRefType>(stream.buffer.getType());
      byLine[kLineBytes * type.getNumElements() / bytesOf(type)].push_back(
          stream);
    }
    // Where the streams are, a distance ahead of the piece.
    llvm::SmallVector<Value> starts;
    for (auto &[elements, group] : byLine)
      for (const Stream &stream : group)
        starts.push_back(
            findStart(builder, loc, stream,
                      copyIndex(builder, stream.index, loop, from)));
    auto start = starts.begin();
    for (auto &[elements, group] : byLine) {
      auto lines =
          scf::ForOp::create(builder, loc, from, to, constant(elements));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(lines.getBody());
      Value offset =
          arith::SubIOp::create(builder, loc, lines.getInductionVar(), from);
      for (const Stream &stream : group) {
        Value at = arith::AddIOp::create(builder, loc, *start++, offset);
        memref::PrefetchOp::create(builder, loc, stream.buffer, at,
                                   /*isWrite=*/false, /*localityHint=*/3,
                                   /*isDataCache=*/true);
      }
      numStreams += group.size();
    }
  }

  /// Returns where to prefetch a piece that starts at `index`. The end of the
  /// buffer bounds the start, so that no line needs a bound of its own.
  Value findStart(OpBuilder &builder, Location loc, const Stream &stream,
                  Value index) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    auto type = cast<MemRefType>(stream.buffer.getType());
    Value ahead =
        arith::AddIOp::create(builder, loc, index, constant(stream.distance));
    int64_t last = std::max<int64_t>(0, type.getNumElements() - piece);
    return arith::MinSIOp::create(builder, loc, ahead, constant(last));
  }
};

} // namespace
