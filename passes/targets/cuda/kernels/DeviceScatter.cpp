// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// `scatter_add`, the gradient of embeddings: each block owns a range of the
// result's rows and finds the updates of these rows by itself.
//
// A block reads all indices, a tile at a time, and lists the updates of its
// rows in their order: counts per thread, sums of the counts before each, then
// each thread writes its own entries. Then each thread walks the list for its
// columns. No element of the result has two writers, and its updates are added
// in their order: f32 sums have the bits of a sequential loop.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace ingot::codegen {

/// Emits the body of one function.
class DeviceScatter {
public:
  DeviceScatter(DeviceKernelBuilder &kernel, ScatterAddOp scatter);
  /// Returns the number of blocks.
  int64_t run();

private:
  /// The indices of a tile that each thread reads.
  static constexpr int64_t kMaxPerThread = 8;
  /// The updates that a thread loads before it adds the first of them.
  static constexpr int64_t kInFlight = 8;

  void chooseShape(int64_t threads);
  void initialize();
  /// Lists the updates from `first` on that the block adds; returns their
  /// number.
  Value listTile(Value first);
  void addListed(Value numListed);
  /// Adds an update to the sums that are carried, of which the first value is
  /// the row; sums of another row are stored, and those of this row loaded.
  SmallVector<Value> addUpdate(ValueRange carried, Value rowWord,
                               ValueRange update);
  void storeSums(ValueRange carried);

  Value positionOf(Value row) {
    // [before, rows, columns]
    Value outer = e.add(e.mul(batch, rows), row);
    return e.add(e.mul(outer, columns), column);
  }
  Value toWord(Value index) {
    return arith::IndexCastUIOp::create(k.builder, k.loc,
                                        k.builder.getI32Type(), index);
  }
  Value toIndex(Value word) {
    return arith::IndexCastUIOp::create(k.builder, k.loc,
                                        k.builder.getIndexType(), word);
  }
  Value word(int64_t value) {
    return e.constant(k.builder.getI32Type(), value);
  }
  SmallVector<Value> loadLanes(Value buffer, Value position);
  void storeLanes(ValueRange values, Value buffer, Value position);
  Value bufferOf(Value operand) {
    return k.buffers[cast<BlockArgument>(operand).getArgNumber()];
  }

  DeviceKernelBuilder &k;
  ScatterAddOp scatter;
  ScalarEmitter e;
  /// The result is [before, rows, columns], and the updates are [before, count,
  /// columns].
  int64_t before = 1, rows, columns = 1, count;
  /// The columns that a thread processes at once, and the threads that share a
  /// row; a block has several groups of them where rows are short.
  int64_t lanes, group;
  /// The parts of a row, and the ranges of rows of `span` each, that blocks
  /// process.
  int64_t parts, ranges, span;
  int64_t perThread;
  /// The type in which updates are added; 16-bit results are rounded where
  /// they are stored.
  Type sumType;
  Value inBlock, inGroup, batch, firstRow, column, hasColumn;
  Value indices, updates, init, result;
  Value counts, listedRows, listedUpdates;
};

} // namespace ingot::codegen

DeviceScatter::DeviceScatter(DeviceKernelBuilder &kernel, ScatterAddOp scatter)
    : k(kernel), scatter(scatter), e{kernel.builder, kernel.loc},
      count(tensorType(scatter.getIndices()).getNumElements()) {
  ArrayRef<int64_t> shape = tensorType(scatter.getResult()).getShape();
  auto dim = static_cast<size_t>(scatter.getDim());
  rows = shape[dim];
  before = product(shape.take_front(dim));
  columns = product(shape.drop_front(dim + 1));
}

void DeviceScatter::chooseShape(int64_t threads) {
  Type rowsOfUpdates[] = {updates.getType(), result.getType()};
  lanes = countLanes(rowsOfUpdates);
  while (columns % lanes != 0)
    lanes /= 2;
  int64_t units = std::max<int64_t>(1, columns / lanes);
  group = std::min<int64_t>(kBlock,
                            static_cast<int64_t>(llvm::PowerOf2Ceil(units)));
  parts = llvm::divideCeil(units, group);
  int64_t blocks = llvm::divideCeil(threads, kBlock);
  int64_t groups = kBlock / group;
  ranges = std::clamp<int64_t>(blocks / (before * parts), 1,
                               llvm::divideCeil(rows, groups));
  span = llvm::divideCeil(rows, ranges);
  ranges = llvm::divideCeil(rows, span);
  perThread =
      std::clamp<int64_t>(llvm::divideCeil(count, kBlock), 1, kMaxPerThread);
}

SmallVector<Value> DeviceScatter::loadLanes(Value buffer, Value position) {
  SmallVector<Value> values;
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.push_back(
        e.convertFloat(k.load(buffer, e.add(position, lane)), sumType));
  return values;
}

void DeviceScatter::storeLanes(ValueRange values, Value buffer,
                               Value position) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  for (auto [lane, value] : llvm::enumerate(values))
    k.DeviceFunctionBuilder::store(e.convertFloat(value, element), buffer,
                                   e.add(position, static_cast<int64_t>(lane)));
}

/// Zeros, or the elements to which updates are added. Where these are in
/// place, rows without an update are not accessed.
void DeviceScatter::initialize() {
  if (init == result)
    return;
  Value last = arith::MinSIOp::create(k.builder, k.loc, e.add(firstRow, span),
                                      e.index(rows));
  k.onlyIf(hasColumn, [&] {
    k.forEach(e.add(firstRow, e.div(inBlock, group)), last, kBlock / group,
              [&](Value row) {
                Value position = positionOf(row);
                SmallVector<Value> first(lanes);
                if (init)
                  first = loadLanes(init, position);
                else
                  llvm::fill(first, e.constant(sumType, 0));
                storeLanes(first, result, position);
              });
  });
}

Value DeviceScatter::listTile(Value first) {
  first = e.add(first, e.mul(inBlock, perThread));
  SmallVector<Value> found, isMine;
  Value mine = word(0);
  bool isWhole = count % (kBlock * perThread) == 0;
  Type i32 = k.builder.getI32Type();
  for (int64_t i = 0; i < perThread; ++i) {
    Value at = e.add(first, i);
    Value exists = isWhole ? Value() : e.inRange(at, count);
    if (exists)
      at = arith::SelectOp::create(k.builder, k.loc, exists, at, e.index(0));
    Value row = e.sub(e.clampedIndex(k.load(indices, at), rows), firstRow);
    Value matches = e.inRange(row, span);
    if (exists)
      matches = e.logicalAnd(matches, exists);
    found.push_back(toWord(row));
    isMine.push_back(matches);
    mine = arith::AddIOp::create(
        k.builder, k.loc, mine,
        arith::ExtUIOp::create(k.builder, k.loc, i32, matches));
  }
  auto [all, slot] = k.sumBlock(mine, counts);
  for (auto [i, row, matches] : llvm::enumerate(found, isMine)) {
    Value place = toIndex(slot);
    k.onlyIf(matches, [&, row = row, i = i] {
      k.DeviceFunctionBuilder::store(row, listedRows, place);
      k.DeviceFunctionBuilder::store(
          toWord(e.add(first, static_cast<int64_t>(i))), listedUpdates, place);
    });
    slot = arith::AddIOp::create(
        k.builder, k.loc, slot,
        arith::ExtUIOp::create(k.builder, k.loc, i32, matches));
  }
  k.synchronizeBlock();
  return all;
}

void DeviceScatter::storeSums(ValueRange carried) {
  Value isSet = e.compare(arith::CmpIPredicate::sge, carried.front(), word(0));
  k.onlyIf(isSet, [&] {
    Value row = e.add(firstRow, toIndex(carried.front()));
    storeLanes(carried.drop_front(), result, positionOf(row));
  });
}

SmallVector<Value> DeviceScatter::addUpdate(ValueRange carried, Value rowWord,
                                            ValueRange update) {
  OpBuilder &b = k.builder;
  Value isOther = e.compare(arith::CmpIPredicate::ne, carried.front(), rowWord);
  auto branch = scf::IfOp::create(b, k.loc, carried.drop_front().getTypes(),
                                  isOther, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    storeSums(carried);
    Value row = e.add(firstRow, toIndex(rowWord));
    scf::YieldOp::create(b, k.loc, loadLanes(result, positionOf(row)));
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(b, k.loc, carried.drop_front());
  }
  SmallVector<Value> next = {rowWord};
  for (auto [sum, more] : llvm::zip_equal(branch.getResults(), update))
    next.push_back(arith::AddFOp::create(b, k.loc, sum, more));
  return next;
}

void DeviceScatter::addListed(Value numListed) {
  OpBuilder &b = k.builder;
  SmallVector<Value> initial = {word(-1)};
  initial.append(lanes, e.constant(sumType, 0));
  Value end = toIndex(numListed), last = e.sub(end, e.index(1));
  int64_t groups = kBlock / group;
  Value own = toWord(e.div(inBlock, group));
  SmallVector<Value> sums = k.fold(
      e.index(0), end, kInFlight, initial, [&](Value from, ValueRange carried) {
        // The loads of all updates come before the first store.
        SmallVector<Value> listed, exists;
        SmallVector<SmallVector<Value>> read;
        for (int64_t i = 0; i < kInFlight; ++i) {
          Value at = e.add(from, i);
          exists.push_back(e.compare(arith::CmpIPredicate::slt, at, end));
          at = arith::MinSIOp::create(b, k.loc, at, last);
          listed.push_back(k.load(listedRows, at));
          Value number = toIndex(k.load(listedUpdates, at));
          Value outer = e.add(e.mul(batch, count), number);
          read.push_back(
              loadLanes(updates, e.add(e.mul(outer, columns), column)));
        }
        SmallVector<Value> next(carried);
        for (auto [row, isThere, update] :
             llvm::zip_equal(listed, exists, read)) {
          Value adds = isThere;
          if (groups > 1) {
            Value rest = arith::RemUIOp::create(b, k.loc, row, word(groups));
            adds = e.logicalAnd(adds,
                                e.compare(arith::CmpIPredicate::eq, rest, own));
          }
          auto branch =
              scf::IfOp::create(b, k.loc, ValueRange(next).getTypes(), adds,
                                /*withElseRegion=*/true);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(&branch.getThenRegion().front());
          scf::YieldOp::create(b, k.loc, addUpdate(next, row, update));
          b.setInsertionPointToStart(&branch.getElseRegion().front());
          scf::YieldOp::create(b, k.loc, next);
          next.assign(branch.result_begin(), branch.result_end());
        }
        return next;
      });
  storeSums(sums);
}

int64_t DeviceScatter::run() {
  indices = bufferOf(scatter.getIndices());
  updates = bufferOf(scatter.getUpdates());
  init = scatter.getInit() ? bufferOf(scatter.getInit()) : Value();
  result = k.outputs().front();
  sumType = accumulatorType(tensorType(scatter.getResult()).getElementType());
  chooseShape(k.threads);

  inBlock = k.threadInBlock();
  inGroup = group == kBlock ? inBlock : e.rem(inBlock, group);
  Value number = k.block();
  firstRow = e.mul(e.rem(number, ranges), span);
  number = e.div(number, ranges);
  Value unit = e.add(e.mul(e.rem(number, parts), group), inGroup);
  batch = e.div(number, parts);
  column = e.mul(unit, lanes);
  hasColumn = e.inRange(unit, columns / lanes);

  initialize();
  if (count > 0) {
    Type i32 = k.builder.getI32Type();
    counts = k.addShared(kBlock / kWarp, i32);
    listedRows = k.addShared(kBlock * perThread, i32);
    listedUpdates = k.addShared(kBlock * perThread, i32);
    k.forEach(e.index(0), e.index(count), kBlock * perThread, [&](Value first) {
      Value numListed = listTile(first);
      k.onlyIf(hasColumn, [&] { addListed(numListed); });
    });
  }
  return before * parts * ranges;
}

DeviceKernel DeviceKernelBuilder::emitScatter(ScatterAddOp scatter) {
  createFunction("", inputTypes(), resultTypes(), /*hasAliases=*/true);
  int64_t grid = DeviceScatter(*this, scatter).run();
  return {finishFunction(grid), std::nullopt, {}};
}
