// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// `row` kernels: a warp or a block for each row, in the passes of RowSchedule.
//
// Each thread processes the same elements of the row in every pass: where they
// are few, all passes are unrolled, and values that one pass has loaded or
// computed are in registers for the next ones.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/RowSchedule.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace ingot::codegen {

/// Emits the body of one function.
class DeviceRows {
public:
  DeviceRows(DeviceKernelBuilder &kernel, const RowSchedule &schedule,
             int64_t group)
      : k(kernel), schedule(schedule), group(group),
        e{kernel.builder, kernel.loc}, emitter(kernel.elements()) {}

  void run();

private:
  /// The maximum number of elements of a row that a thread keeps in registers.
  static constexpr int64_t kMaxUnrolled = 32;

  void emitPhase(const RowPhase &phase);
  /// Accumulates and stores the values of the phase for the elements at
  /// `columns`.
  SmallVector<Value> emitElements(const RowPhase &phase, ValueRange columns,
                                  SmallVector<Value> sums);
  SmallVector<Value> emitPass(const RowPhase &phase);
  /// Emits the sums over all threads of the row, which every thread receives.
  void sumGroup(ArrayRef<Reduction> roots, SmallVectorImpl<Value> &sums);
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
  /// The threads that share a row: a warp or a block.
  int64_t group;
  ScalarEmitter e;
  ElementEmitter emitter;
  Value row, inBlock, inGroup;
  /// The number of elements that a thread processes at once, and its elements
  /// where passes are unrolled.
  int64_t lanes = 1;
  SmallVector<Value> columns;
};

} // namespace ingot::codegen

void DeviceRows::sumGroup(ArrayRef<Reduction> roots,
                          SmallVectorImpl<Value> &sums) {
  k.sumWarp(roots, sums);
  if (group == kWarp)
    return;
  // Each sum has separate memory, so that one barrier is enough.
  SmallVector<Value> shared = k.sharedSums(roots, kBlock / kWarp);
  k.onlyIf(isZero(e.rem(inBlock, kWarp)),
           [&] { k.storeShared(sums, shared, e.div(inBlock, kWarp)); });
  gpu::BarrierOp::create(k.builder, k.loc);
  sums = k.loadShared(shared, e.index(0));
  for (int64_t warp = 1; warp < kBlock / kWarp; ++warp)
    sums = k.combine(roots, sums, k.loadShared(shared, e.index(warp)));
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
                                            ValueRange at,
                                            SmallVector<Value> sums) {
  // All elements are computed before the first store, because results may
  // overwrite inputs.
  SmallVector<std::pair<unsigned, std::pair<Value, Value>>> stores;
  for (Value column : at) {
    SmallVector<Value> values;
    for (Reduction reduction : phase.reductions) {
      Value operand = reduction->getOperand(0);
      values.push_back(emitter.element(operand, index(operand, column)));
    }
    sums = k.combine(phase.reductions, sums, values);
    for (unsigned i : phase.stored) {
      Value result = k.yield()->getOperand(i);
      stores.push_back(
          {i, {emitter.element(result, index(result, column)), column}});
    }
  }
  for (auto [i, value] : stores)
    memref::StoreOp::create(k.builder, k.loc, value.first, k.outputs()[i],
                            position(k.yield()->getOperand(i), value.second));
  return sums;
}

SmallVector<Value> DeviceRows::emitPass(const RowPhase &phase) {
  SmallVector<Value> initial = k.identities(phase.reductions);
  if (!columns.empty())
    return emitElements(phase, columns, initial);
  return k.fold(e.mul(inGroup, lanes), e.index(schedule.space.length),
                group * lanes, initial, [&](Value from, ValueRange sums) {
                  SmallVector<Value> at;
                  for (int64_t lane = 0; lane < lanes; ++lane)
                    at.push_back(e.add(from, lane));
                  return emitElements(phase, at, SmallVector<Value>(sums));
                });
}

void DeviceRows::emitPhase(const RowPhase &phase) {
  for (Value value : phase.perRow) {
    Value element = emitter.element(value, rowIndex(value));
    if (schedule.reads.isAligned(value))
      emitter.setSource(value, [=](ValueRange) { return element; });
    storePerRow(value, element);
  }
  if (!phase.hasPass())
    return;
  SmallVector<Value> sums = emitPass(phase);
  if (!sums.empty())
    sumGroup(phase.reductions, sums);
  for (auto [reduction, sum] : llvm::zip_equal(phase.reductions, sums)) {
    Value result = const_cast<Reduction &>(reduction)->getResult(0);
    Value rounded =
        e.convertFloat(sum, codeType(tensorType(result).getElementType()));
    emitter.setSource(result, [=](ValueRange) { return rounded; });
    storePerRow(result, rounded);
  }
  // A thread reads back only its own elements.
  for (unsigned i : phase.stored) {
    Value result = k.yield()->getOperand(i);
    if (columns.empty() && schedule.reads.isAligned(result))
      emitter.setSource(result, [=, this](ValueRange at) -> Value {
        return memref::LoadOp::create(
            k.builder, k.loc, k.outputs()[i],
            e.linearize(at, tensorType(result).getShape()));
      });
  }
}

void DeviceRows::run() {
  int64_t groups = kBlock / group, length = schedule.space.length;
  inBlock = k.threadInBlock();
  inGroup = group == kBlock ? inBlock : e.rem(inBlock, group);
  row = k.block();
  if (group != kBlock)
    row = e.add(e.mul(row, groups), e.div(inBlock, group));

  SmallVector<Type> types = k.inputTypes();
  llvm::append_range(types, k.resultTypes());
  for (lanes = countLanes(types); length % lanes != 0;)
    lanes /= 2;
  int64_t perThread = length / group;
  if (length % (group * lanes) == 0 && perThread <= kMaxUnrolled)
    for (int64_t first = 0; first < length; first += group * lanes)
      for (int64_t lane = 0; lane < lanes; ++lane)
        columns.push_back(e.add(e.mul(inGroup, lanes), first + lane));

  auto emitRow = [&] {
    for (BlockArgument argument : k.body.getArguments())
      if (schedule.space.hasElementPerRow(argument) &&
          schedule.reads.isAligned(argument)) {
        Value element = emitter.element(argument, rowIndex(argument));
        emitter.setSource(argument, [=](ValueRange) { return element; });
      }
    for (const RowPhase &phase : schedule.phases)
      emitPhase(phase);
  };
  // The condition is uniform within a warp; a block that shares a row always
  // has one.
  if (schedule.space.rows % groups != 0)
    k.onlyIf(e.inRange(row, schedule.space.rows), emitRow);
  else
    emitRow();
}

DeviceKernel DeviceKernelBuilder::emitRows() {
  RowSchedule schedule(kernel);
  constexpr int64_t longRow = 2048;
  int64_t group = schedule.space.length <= longRow ? kWarp : kBlock;
  createFunction("", inputTypes(), resultTypes(), /*hasAliases=*/true);
  DeviceRows(*this, schedule, group).run();
  return {finishFunction(llvm::divideCeil(schedule.space.rows, kBlock / group)),
          std::nullopt,
          {}};
}
