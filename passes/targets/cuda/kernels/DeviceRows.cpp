// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// `row` kernels: a warp or a block for each row, in the passes of RowSchedule.
//
// Each thread processes the same elements of the row in every pass: where they
// are few, all passes are unrolled, and values that one pass has loaded or
// computed are in registers for the next ones. Blocks have up to 512 threads,
// so that rows of up to 16,384 elements are read once. Threads beyond the end
// of a row compute their first elements again and ignore the results.
//
// Longer rows are read in each pass, by blocks of 1,024 threads: the rows of
// all blocks that run at the same time fit in the L2 cache, where later passes
// find them. The largest element and the sum of the exponentials of the
// differences from it, as in softmax, then take one pass: a sum is scaled
// whenever a larger element appears.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/RowSchedule.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace ingot::codegen {

/// Emits the body of one function.
class DeviceRows {
public:
  DeviceRows(DeviceKernelBuilder &kernel, const RowSchedule &schedule,
             const RowSums &rowSums)
      : k(kernel), schedule(schedule), rowSums(rowSums),
        e{kernel.builder, kernel.loc}, emitter(kernel.elements()) {}

  /// Chooses threads and elements for buffers of these types.
  void chooseShape(TypeRange buffers);
  DeviceLaunch run();

private:
  /// The maximum number of elements of a row that a thread keeps in registers.
  static constexpr int64_t kMaxUnrolled = 32;
  /// The maximum number of threads that share a row in registers: each may
  /// have 128.
  static constexpr int64_t kMaxGroup = 512;
  /// The threads that share a longer row.
  static constexpr int64_t kLongGroup = 1024;
  /// The iterations of a pass over a long row whose loads are in flight.
  static constexpr int64_t kInFlight = 2;

  /// A column of the row, and whether it exists; null if it always does.
  struct Column {
    Value at, exists;
  };

  /// Emits all phases of the current row.
  void emitRow();
  /// Emits the rows of a block, of which it stores the sums.
  void emitSummedRows();
  void emitPhase(const RowPhase &phase);
  /// Adds the elements of the phase at `columns` to the sums over rows.
  void addToRowSums(const RowPhase &phase);
  /// Emits what stands before the pass of the phase.
  void emitPerRow(const RowPhase &phase);
  void setSum(Reduction reduction, Value sum);
  /// Accumulates and stores the values of the phase for the elements at
  /// `columns`.
  SmallVector<Value> emitElements(const RowPhase &phase,
                                  ArrayRef<Column> columns,
                                  SmallVector<Value> sums);
  SmallVector<Value> emitPass(const RowPhase &phase);
  /// Emits the sums over all threads of the row, which every thread receives.
  void sumGroup(ArrayRef<Reduction> roots, SmallVectorImpl<Value> &sums);
  /// Combines `values` of all threads of the row, which every thread receives.
  void combineGroup(
      SmallVectorImpl<Value> &values,
      llvm::function_ref<SmallVector<Value>(ValueRange, ValueRange)> combine);

  /// Whether two phases compute the maximum of a row and sums of the
  /// exponentials of its differences from it.
  bool isSoftmax(const RowPhase &first, const RowPhase &second);
  /// Emits both phases as one pass over the row.
  void emitOnline(const RowPhase &first, const RowPhase &second);
  /// Combines a maximum and the sums that belong to it with others.
  SmallVector<Value> combineOnline(Reduction maximum, ValueRange sums,
                                   ValueRange others);
  /// Emits e^(x - maximum), or 0 for -infinity.
  Value emitPower(Value x, Value maximum);
  void storePerRow(Value tensor, Value element);
  SmallVector<Value> rowIndex(Value tensor) {
    return e.delinearize(row, tensorType(tensor).getShape());
  }
  SmallVector<Value> index(Value tensor, Value column) {
    ArrayRef<int64_t> shape = tensorType(tensor).getShape();
    size_t split = *schedule.space.split(shape);
    SmallVector<Value> result = e.delinearize(row, shape.take_front(split));
    llvm::append_range(result, e.delinearize(column, shape.drop_front(split)));
    return result;
  }
  Value position(Value tensor, Value column) {
    return e.linearize(index(tensor, column), tensorType(tensor).getShape());
  }
  Value isZero(Value index) {
    return e.compare(arith::CmpIPredicate::eq, index, e.index(0));
  }

  DeviceKernelBuilder &k;
  const RowSchedule &schedule;
  const RowSums &rowSums;
  /// The threads that share a row: a warp or a block.
  int64_t group = kWarp;
  ScalarEmitter e;
  ElementEmitter emitter;
  Value row, inBlock, inGroup;
  /// The number of elements that a thread processes at once, and its elements
  /// where passes are unrolled.
  int64_t lanes = 1;
  bool isUnrolled = false;
  SmallVector<Column> columns;
  /// The sums over rows so far, of each column of the thread, one result after
  /// the other.
  SmallVector<Value> totals;
};

} // namespace ingot::codegen

void DeviceRows::combineGroup(
    SmallVectorImpl<Value> &values,
    llvm::function_ref<SmallVector<Value>(ValueRange, ValueRange)> combine) {
  auto combineWarp = [&] {
    for (int64_t distance = kWarp / 2; distance > 0; distance /= 2) {
      SmallVector<Value> others = llvm::map_to_vector(
          values, [&](Value value) { return k.shuffleXor(value, distance); });
      values = combine(values, others);
    }
  };
  combineWarp();
  if (group == kWarp)
    return;
  // Each value has separate memory, so that one barrier is enough.
  int64_t warps = group / kWarp;
  SmallVector<Value> shared = llvm::map_to_vector(
      values, [&](Value value) { return k.addShared(warps, value.getType()); });
  k.onlyIf(isZero(e.rem(inBlock, kWarp)),
           [&] { k.storeShared(values, shared, e.div(inBlock, kWarp)); });
  gpu::BarrierOp::create(k.builder, k.loc);
  // Each warp combines what all have; a lane has that of one.
  if (warps == kWarp) {
    values = k.loadShared(shared, e.rem(inBlock, kWarp));
    return combineWarp();
  }
  values = k.loadShared(shared, e.index(0));
  for (int64_t warp = 1; warp < warps; ++warp)
    values = combine(values, k.loadShared(shared, e.index(warp)));
}

void DeviceRows::sumGroup(ArrayRef<Reduction> roots,
                          SmallVectorImpl<Value> &sums) {
  combineGroup(sums, [&](ValueRange some, ValueRange others) {
    return k.combine(roots, some, others);
  });
}

void DeviceRows::storePerRow(Value tensor, Value element) {
  for (auto [result, buffer] :
       llvm::zip_equal(k.yield()->getOperands(), k.outputs()))
    if (result == tensor)
      k.onlyIf(isZero(inGroup), [&] {
        memref::StoreOp::create(k.builder, k.loc, element, buffer, row);
      });
}

SmallVector<Value> DeviceRows::emitElements(const RowPhase &phase,
                                            ArrayRef<Column> at,
                                            SmallVector<Value> sums) {
  for (const Column &column : at) {
    SmallVector<Value> values;
    for (Reduction reduction : phase.reductions) {
      Value operand = reduction->getOperand(0);
      values.push_back(emitter.element(operand, index(operand, column.at)));
    }
    SmallVector<Value> next = k.combine(phase.reductions, sums, values);
    if (column.exists)
      for (auto [sum, combined] : llvm::zip_equal(sums, next))
        combined = arith::SelectOp::create(k.builder, k.loc, column.exists,
                                           combined, sum);
    sums = std::move(next);
  }
  // All elements are computed before the first store, because results may
  // overwrite inputs.
  SmallVector<SmallVector<Value>> elements;
  for (unsigned i : phase.stored) {
    Value result = k.yield()->getOperand(i);
    elements.emplace_back();
    for (const Column &column : at)
      elements.back().push_back(
          emitter.element(result, index(result, column.at)));
  }
  addToRowSums(phase);
  for (auto [i, values] : llvm::zip_equal(phase.stored, elements)) {
    Value result = k.yield()->getOperand(i), buffer = k.outputs()[i];
    // Lanes exist together.
    for (size_t first = 0; first < at.size(); first += lanes) {
      auto store = [&] {
        for (size_t lane = first; lane < first + lanes; ++lane)
          memref::StoreOp::create(k.builder, k.loc, values[lane], buffer,
                                  position(result, at[lane].at));
      };
      if (at[first].exists)
        k.onlyIf(at[first].exists, store);
      else
        store();
    }
  }
  return sums;
}

void DeviceRows::addToRowSums(const RowPhase &phase) {
  for (auto [i, root] : llvm::enumerate(rowSums.roots)) {
    if (!llvm::is_contained(phase.overRows, rowSums.results[i]))
      continue;
    Value operand = root->getOperand(0);
    for (auto [j, column] : llvm::enumerate(columns)) {
      Value &total = totals[i * columns.size() + j];
      Reduction sum = root;
      Value next =
          sum.emitCombine(k.builder, k.loc, total,
                          emitter.element(operand, index(operand, column.at)));
      total = column.exists ? Value(arith::SelectOp::create(
                                  k.builder, k.loc, column.exists, next, total))
                            : next;
    }
  }
}

SmallVector<Value> DeviceRows::emitPass(const RowPhase &phase) {
  SmallVector<Value> initial = k.identities(phase.reductions);
  if (isUnrolled)
    return emitElements(phase, columns, initial);
  return k.fold(
      e.mul(inGroup, lanes), e.index(schedule.space.length), group * lanes,
      initial,
      [&](Value from, ValueRange sums) {
        SmallVector<Column> at;
        for (int64_t lane = 0; lane < lanes; ++lane)
          at.push_back({e.add(from, lane), Value()});
        return emitElements(phase, at, SmallVector<Value>(sums));
      },
      kInFlight);
}

void DeviceRows::emitPerRow(const RowPhase &phase) {
  for (Value value : phase.perRow) {
    Value element = emitter.element(value, rowIndex(value));
    if (schedule.reads.isAligned(value))
      emitter.setSource(value, [=](ValueRange) { return element; });
    storePerRow(value, element);
  }
}

void DeviceRows::setSum(Reduction reduction, Value sum) {
  Value result = reduction->getResult(0);
  Value rounded =
      e.convertFloat(sum, codeType(tensorType(result).getElementType()));
  emitter.setSource(result, [=](ValueRange) { return rounded; });
  storePerRow(result, rounded);
}

void DeviceRows::emitPhase(const RowPhase &phase) {
  emitPerRow(phase);
  if (!phase.hasPass())
    return;
  SmallVector<Value> sums = emitPass(phase);
  if (!sums.empty())
    sumGroup(phase.reductions, sums);
  for (auto [reduction, sum] : llvm::zip_equal(phase.reductions, sums))
    setSum(reduction, sum);
  // A thread reads back only its own elements.
  for (unsigned i : phase.stored) {
    Value result = k.yield()->getOperand(i);
    if (!isUnrolled && schedule.reads.isAligned(result))
      emitter.setSource(result, [=, this](ValueRange at) -> Value {
        return memref::LoadOp::create(
            k.builder, k.loc, k.outputs()[i],
            e.linearize(at, tensorType(result).getShape()));
      });
  }
}

//===----------------------------------------------------------------------===//
// Softmax in one pass
//===----------------------------------------------------------------------===//

bool DeviceRows::isSoftmax(const RowPhase &first, const RowPhase &second) {
  if (first.reductions.size() != 1 || !first.stored.empty() ||
      second.reductions.empty() || !second.stored.empty())
    return false;
  Reduction reduction = first.reductions.front();
  auto maximum = dyn_cast<ReduceOp>(reduction.getOperation());
  if (!maximum || maximum.getKind() != ReductionKind::Max ||
      !tensorType(maximum.getOperand()).getElementType().isF32())
    return false;
  return llvm::all_of(second.reductions, [&](Reduction other) {
    auto sum = dyn_cast<ReduceOp>(other.getOperation());
    if (!sum || sum.getKind() != ReductionKind::Sum)
      return false;
    auto power = sum.getOperand().getDefiningOp<ExpOp>();
    auto difference =
        power ? power.getOperand().getDefiningOp<SubOp>() : SubOp();
    if (!difference || difference.getLhs() != maximum.getOperand())
      return false;
    // Broadcasts and reshapes repeat the maximum.
    Value repeated = difference.getRhs();
    while (isa_and_nonnull<BroadcastOp, ReshapeOp>(repeated.getDefiningOp()))
      repeated = repeated.getDefiningOp()->getOperand(0);
    return repeated == maximum.getResult();
  });
}

Value DeviceRows::emitPower(Value x, Value maximum) {
  // The difference of two equal infinities would be NaN.
  OpBuilder &b = k.builder;
  Value zero = e.constant(b.getF32Type(), 0);
  Value lowest =
      e.constant(b.getF32Type(), -std::numeric_limits<double>::infinity());
  Value isLowest = arith::CmpFOp::create(b, k.loc, arith::CmpFPredicate::OEQ,
                                         maximum, lowest);
  Value base = arith::SelectOp::create(b, k.loc, isLowest, zero, maximum);
  return math::ExpOp::create(b, k.loc,
                             arith::SubFOp::create(b, k.loc, x, base));
}

SmallVector<Value> DeviceRows::combineOnline(Reduction maximum, ValueRange sums,
                                             ValueRange others) {
  OpBuilder &b = k.builder;
  Value larger = maximum.emitCombine(b, k.loc, sums.front(), others.front());
  Value scale = emitPower(sums.front(), larger);
  Value otherScale = emitPower(others.front(), larger);
  SmallVector<Value> result = {larger};
  for (auto [sum, other] :
       llvm::zip_equal(sums.drop_front(), others.drop_front()))
    result.push_back(arith::AddFOp::create(
        b, k.loc, arith::MulFOp::create(b, k.loc, sum, scale),
        arith::MulFOp::create(b, k.loc, other, otherScale)));
  return result;
}

void DeviceRows::emitOnline(const RowPhase &first, const RowPhase &second) {
  emitPerRow(first);
  OpBuilder &b = k.builder;
  Reduction maximum = first.reductions.front();
  Value operand = maximum->getOperand(0);
  // All sums are equal.
  SmallVector<Value> initial = {maximum.emitIdentity(b, k.loc),
                                e.constant(b.getF32Type(), 0)};
  SmallVector<Value> values = k.fold(
      e.mul(inGroup, lanes), e.index(schedule.space.length), group * lanes,
      initial,
      [&](Value from, ValueRange carried) {
        Value largest = carried[0];
        SmallVector<Value> elements;
        for (int64_t lane = 0; lane < lanes; ++lane) {
          elements.push_back(
              emitter.element(operand, index(operand, e.add(from, lane))));
          largest = maximum.emitCombine(b, k.loc, largest, elements.back());
        }
        Value sum = arith::MulFOp::create(b, k.loc, carried[1],
                                          emitPower(carried[0], largest));
        for (Value element : elements)
          sum =
              arith::AddFOp::create(b, k.loc, sum, emitPower(element, largest));
        return SmallVector<Value>{largest, sum};
      },
      kInFlight);
  combineGroup(values, [&](ValueRange some, ValueRange others) {
    return combineOnline(maximum, some, others);
  });
  setSum(maximum, values[0]);
  emitPerRow(second);
  for (Reduction sum : second.reductions)
    setSum(sum, values[1]);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void DeviceRows::chooseShape(TypeRange buffers) {
  int64_t length = schedule.space.length;
  for (lanes = countLanes(buffers); length % lanes != 0;)
    lanes /= 2;
  int64_t most = rowSums.roots.empty() ? kMaxUnrolled : RowSums::kElements;
  for (group = kWarp; group < kMaxGroup; group *= 2)
    if (llvm::divideCeil(length, group * lanes) * lanes <= most)
      break;
  // Every thread has a first element.
  while (lanes > 1 && group * lanes > length)
    lanes /= 2;
  isUnrolled = length >= group * lanes &&
               llvm::divideCeil(length, group * lanes) * lanes <= kMaxUnrolled;
  if (!isUnrolled && group != kWarp)
    group = kLongGroup;
}

void DeviceRows::emitRow() {
  for (BlockArgument argument : k.body.getArguments())
    if (schedule.space.hasElementPerRow(argument) &&
        schedule.reads.isAligned(argument)) {
      Value element = emitter.element(argument, rowIndex(argument));
      emitter.setSource(argument, [=](ValueRange) { return element; });
    }
  ArrayRef<RowPhase> phases = schedule.phases;
  while (!phases.empty()) {
    bool isOnline =
        !isUnrolled && phases.size() > 1 && isSoftmax(phases[0], phases[1]);
    if (isOnline)
      emitOnline(phases[0], phases[1]);
    else
      emitPhase(phases[0]);
    phases = phases.drop_front(isOnline ? 2 : 1);
  }
}

void DeviceRows::emitSummedRows() {
  SmallVector<Value> initial;
  for (Reduction root : rowSums.roots)
    initial.append(columns.size(), root.emitIdentity(k.builder, k.loc));
  Value number = k.block();
  SmallVector<Value> sums =
      k.fold(number, e.index(schedule.space.rows), rowSums.blocks, initial,
             [&](Value at, ValueRange carried) {
               row = at;
               totals = llvm::to_vector(carried);
               emitRow();
               // Memory that threads share is that of the next row as well.
               if (group != kWarp)
                 k.synchronizeBlock();
               return totals;
             });
  Value first = e.mul(number, schedule.space.length);
  for (auto [i, result] : llvm::enumerate(rowSums.results))
    for (size_t from = 0; from < columns.size(); from += lanes) {
      auto store = [&] {
        for (size_t j = from; j < from + lanes; ++j)
          memref::StoreOp::create(
              k.builder, k.loc, sums[i * columns.size() + j],
              k.outputs()[result], e.add(first, columns[j].at));
      };
      // Lanes exist together.
      if (columns[from].exists)
        k.onlyIf(columns[from].exists, store);
      else
        store();
    }
}

DeviceLaunch DeviceRows::run() {
  bool hasSums = !rowSums.roots.empty();
  // A block that adds up rows has one at a time.
  int64_t block = group == kWarp && !hasSums ? kBlock : group;
  int64_t groups = block / group, length = schedule.space.length;
  inBlock = k.threadInBlock();
  inGroup = group == block ? inBlock : e.rem(inBlock, group);
  row = k.block();
  if (group != block)
    row = e.add(e.mul(row, groups), e.div(inBlock, group));

  if (isUnrolled) {
    Value own = e.mul(inGroup, lanes);
    for (int64_t first = 0; first < length; first += group * lanes) {
      Value at = e.add(own, first), exists;
      if (first + group * lanes > length) {
        exists = e.inRange(inGroup, (length - first) / lanes);
        at = arith::SelectOp::create(k.builder, k.loc, exists, at, own);
      }
      for (int64_t lane = 0; lane < lanes; ++lane)
        columns.push_back({e.add(at, lane), exists});
    }
  }

  if (hasSums) {
    emitSummedRows();
    return k.finishFunction(rowSums.blocks, /*anyGrid=*/false, block);
  }
  // The condition is uniform within a warp; a block that shares a row always
  // has one.
  if (schedule.space.rows % groups != 0)
    k.onlyIf(e.inRange(row, schedule.space.rows), [&] { emitRow(); });
  else
    emitRow();
  return k.finishFunction(llvm::divideCeil(schedule.space.rows, groups),
                          /*anyGrid=*/false, block);
}

DeviceKernel DeviceKernelBuilder::emitRows() {
  RowSchedule schedule(body);
  RowSums sums = RowSums::of(body, schedule.space);
  SmallVector<Type> read = inputTypes(), written = resultTypes(), all(read);
  llvm::append_range(all, written);
  SmallVector<Type> finished;
  for (auto [result, partial] : llvm::zip_equal(sums.results, sums.partials)) {
    finished.push_back(written[result]);
    written[result] = partial;
  }
  createFunction("", read, written, /*hasAliases=*/true);
  DeviceRows rows(*this, schedule, sums);
  rows.chooseShape(all);
  DeviceKernel launches;
  launches.main = rows.run();
  if (sums.roots.empty())
    return launches;
  launches.finish =
      emitRowSums(sums.roots, sums.blocks,
                  llvm::to_vector_of<Type>(sums.partials), finished);
  launches.partials = std::move(sums.partials);
  launches.finished = std::move(sums.results);
  return launches;
}
