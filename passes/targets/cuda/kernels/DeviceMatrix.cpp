// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// `tile` kernels: a block for each tile of a matrix. Threads compute elements
// in the order of rows, and store those results; of results with rows and
// columns exchanged they keep the tile in shared memory, from where threads
// store whole segments of the exchanged rows. Reductions of the tile, or of its
// rows, pass through shuffles and shared memory in a fixed order.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/TileSpace.h"
#include "dialects/ingot/builders/Builders.h"
#include "passes/codegen/RowSchedule.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace ingot::codegen {

/// Emits the body of one function.
class DeviceMatrix {
public:
  explicit DeviceMatrix(DeviceKernelBuilder &kernel);

  DeviceLaunch run();

private:
  /// The elements of adjacent columns that a thread computes at a time.
  static constexpr int64_t kMostLanes = 8;
  /// The padding of a row in shared memory, in bytes, so that the elements of a
  /// column are in different banks.
  static constexpr int64_t kPadding = 4;

  /// A result of the kernel.
  struct Result {
    Operation *root;
    TileResult kind;
    /// The value whose elements it takes.
    Value elements;
    Value output;
    /// The shared memory: for transposed operands, the tile; for reductions, a
    /// number for each warp, and for each column.
    Value shared;
    /// For reductions, what this thread has accumulated, by lane.
    SmallVector<Value> sums;
  };

  void emitElements();
  void emitRow(Value row, Value inRow);
  void emitTransposed(const Result &result);
  void emitReduction(Result &result);
  Value combine(const Result &result, Value a, Value b) {
    return k.combine({cast<Reduction>(result.root)}, a, b).front();
  }
  int64_t getStride(const Result &result) const;

  DeviceKernelBuilder &k;
  ScalarEmitter e;
  ElementEmitter emitter;
  TileSpace space;
  SmallVector<Result> results;
  /// Reshapes whose elements are read at the current row and column.
  SmallVector<ReshapeOp> reshapes;
  /// Columns that a thread computes at a time, threads of a row of the tile,
  /// and rows that the block computes at a time.
  int64_t lanes, across, down;
  Value inBlock, tileRow, tileColumn;
};

} // namespace ingot::codegen

DeviceMatrix::DeviceMatrix(DeviceKernelBuilder &kernel)
    : k(kernel), e{kernel.builder, kernel.loc}, emitter(kernel.elements()),
      space(), lanes(0), across(0), down(0) {
  SmallVector<Operation *> roots;
  for (Value value : k.yield()->getOperands())
    roots.push_back(value.getDefiningOp());
  space = *TileSpace::of(roots);
  lanes = std::min(kMostLanes, space.rows * space.columns / kBlock);
  across = space.columns / lanes;
  down = kBlock / across;
  for (auto [root, output] : llvm::zip_equal(roots, k.outputs()))
    results.push_back({root,
                       TileSpace::classify(root),
                       TileSpace::getElements(root),
                       output,
                       {},
                       {}});
  SmallVector<Operation *> ops = llvm::to_vector_of<Operation *>(
      llvm::make_pointer_range(k.body.without_terminator()));
  RowReads reads = readTiles(space, ops, roots);
  for (Operation *op : ops)
    if (auto reshape = dyn_cast<ReshapeOp>(op);
        reshape && reads.isAligned(reshape.getResult()) &&
        space.matrix.split(tensorType(reshape.getOperand()).getShape()))
      reshapes.push_back(reshape);
}

int64_t DeviceMatrix::getStride(const Result &result) const {
  int64_t bytes = std::max<int64_t>(
      1, tensorType(result.elements).getElementTypeBitWidth() / 8);
  return space.columns + std::max<int64_t>(1, kPadding / bytes);
}

/// Computes the elements of a thread in one row.
void DeviceMatrix::emitRow(Value row, Value inRow) {
  SmallVector<Value> columns;
  Value first = e.mul(e.rem(inBlock, across), lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    columns.push_back(
        e.add(e.add(e.mul(tileColumn, space.columns), first), lane));
  // All elements are computed before the first store.
  SmallVector<SmallVector<Value>> values(results.size());
  for (Value column : columns) {
    // An element of a reshaped tensor is the one at the same row and column.
    for (ReshapeOp reshape : reshapes) {
      Value from = reshape.getOperand();
      emitter.setSource(reshape.getResult(), [=, this](ValueRange) {
        return emitter.element(from,
                               indexInRow(e, space.matrix, from, row, column));
      });
    }
    for (auto [result, own] : llvm::zip_equal(results, values))
      own.push_back(emitter.element(
          result.elements,
          indexInRow(e, space.matrix, result.elements, row, column)));
  }
  for (auto [result, own] : llvm::zip_equal(results, values))
    for (auto [lane, value] : llvm::enumerate(own)) {
      auto at = static_cast<int64_t>(lane);
      switch (result.kind) {
      case TileResult::Elements:
        k.DeviceFunctionBuilder::store(
            value, result.output,
            e.add(e.mul(row, space.matrix.length), columns[lane]));
        break;
      case TileResult::Transposed:
        k.DeviceFunctionBuilder::store(
            value, result.shared,
            e.add(e.add(e.mul(inRow, getStride(result)), first), at));
        break;
      case TileResult::Columns:
      case TileResult::Whole: {
        // One accumulator for each column, or for all.
        size_t place = result.kind == TileResult::Columns ? lane : 0;
        result.sums[place] = combine(result, result.sums[place], value);
        break;
      }
      }
    }
}

/// A thread stores a segment of a column as a part of a row.
void DeviceMatrix::emitTransposed(const Result &result) {
  int64_t run = space.rows * space.columns / kBlock;
  int64_t runs = space.rows / run;
  Value from = e.mul(e.rem(inBlock, runs), run), column = e.div(inBlock, runs);
  SmallVector<Value> values;
  for (int64_t i = 0; i < run; ++i)
    values.push_back(
        k.load(result.shared,
               e.add(e.mul(e.add(from, i), getStride(result)), column)));
  Value row = e.add(e.mul(tileColumn, space.columns), column);
  Value first = e.add(e.mul(row, space.matrix.rows),
                      e.add(e.mul(tileRow, space.rows), from));
  for (auto [i, value] : llvm::enumerate(values))
    k.DeviceFunctionBuilder::store(value, result.output,
                                   e.add(first, static_cast<int64_t>(i)));
}

/// The sums of a warp are in shared memory.
void DeviceMatrix::emitReduction(Result &result) {
  auto isFirst = [&](int64_t count) {
    return e.compare(arith::CmpIPredicate::slt, inBlock, e.index(count));
  };
  bool isWhole = result.kind == TileResult::Whole;
  int64_t width = isWhole ? 1 : space.columns;
  k.onlyIf(isFirst(width), [&] {
    Value sum = k.load(result.shared, inBlock);
    for (int64_t warp = 1; warp < kBlock / kWarp; ++warp)
      sum = combine(result, sum,
                    k.load(result.shared, e.add(inBlock, warp * width)));
    Value column =
        isWhole ? tileColumn : e.add(e.mul(tileColumn, space.columns), inBlock);
    int64_t columns =
        isWhole ? space.matrix.length / space.columns : space.matrix.length;
    Type type = cast<MemRefType>(result.output.getType()).getElementType();
    k.DeviceFunctionBuilder::store(e.convertFloat(sum, type), result.output,
                                   e.add(e.mul(tileRow, columns), column));
  });
}

DeviceLaunch DeviceMatrix::run() {
  int64_t warps = kBlock / kWarp;
  for (Result &result : results) {
    Type element = tensorType(result.elements).getElementType();
    if (result.kind == TileResult::Transposed) {
      auto output = cast<MemRefType>(result.output.getType());
      result.shared =
          k.addShared(space.rows * getStride(result), output.getElementType());
    } else if (result.kind != TileResult::Elements) {
      bool isWhole = result.kind == TileResult::Whole;
      result.shared = k.addShared(isWhole ? warps : warps * space.columns,
                                  accumulatorType(element));
      result.sums.assign(
          isWhole ? 1 : lanes,
          cast<Reduction>(result.root).emitIdentity(k.builder, k.loc));
    }
  }
  inBlock = k.threadInBlock();
  SmallVector<Value> tile =
      e.delinearize(k.block(), {space.matrix.rows / space.rows,
                                space.matrix.length / space.columns});
  tileRow = tile[0];
  tileColumn = tile[1];
  for (int64_t done = 0; done < space.rows; done += down) {
    Value inRow = e.add(e.div(inBlock, across), done);
    emitRow(e.add(e.mul(tileRow, space.rows), inRow), inRow);
  }
  // Threads of a warp that have the same columns, or all of them.
  Value lane = e.rem(inBlock, kWarp), warp = e.div(inBlock, kWarp);
  for (Result &result : results) {
    bool isWhole = result.kind == TileResult::Whole;
    if (!isWhole && result.kind != TileResult::Columns)
      continue;
    int64_t least = isWhole ? 1 : across;
    for (int64_t distance = kWarp / 2; distance >= least; distance /= 2)
      for (Value &sum : result.sums)
        sum = combine(result, sum, k.shuffleXor(sum, distance));
    k.onlyIf(e.compare(arith::CmpIPredicate::slt, lane,
                       e.index(std::min(least, kWarp))),
             [&] {
               for (auto [i, sum] : llvm::enumerate(result.sums)) {
                 Value at = warp;
                 if (!isWhole)
                   at = e.add(
                       e.add(e.mul(warp, space.columns), e.mul(lane, lanes)),
                       static_cast<int64_t>(i));
                 k.DeviceFunctionBuilder::store(sum, result.shared, at);
               }
             });
  }
  k.synchronizeBlock();
  for (Result &result : results)
    if (result.kind == TileResult::Transposed)
      emitTransposed(result);
    else if (result.kind != TileResult::Elements)
      emitReduction(result);
  return k.finishFunction(product(
      {space.matrix.rows / space.rows, space.matrix.length / space.columns}));
}

DeviceKernel DeviceKernelBuilder::emitMatrix() {
  createFunction("", inputTypes(), resultTypes(), /*hasAliases=*/false);
  return {DeviceMatrix(*this).run(), std::nullopt, {}};
}
