// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Loops for `row` kernels: one row after the other, in the passes of
// RowSchedule. The first pass loads the row into the cache, where later ones
// find it.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/ElementEmitter.h"
#include "passes/codegen/RowSchedule.h"
#include "passes/targets/cpu/KernelFunction.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

/// The maximum number of bytes of values per row on a thread's stack: well
/// within the second-level cache.
constexpr int64_t kKeptBytes = 256 << 10;

class RowEmitter : KernelFunction {
public:
  explicit RowEmitter(exec::KernelOp kernel)
      : KernelFunction(kernel), schedule(body) {}

  Extent run();

private:
  void allocateKept();
  void emitPhase(ElementEmitter &emitter, RowPhase &phase);
  void emitPass(ElementEmitter &emitter, RowPhase &phase);
  void storePerRow(Value tensor, Value element);
  /// Returns the index of the current element in a tensor of the space's shape.
  SmallVector<Value> fullIndex(Value tensor) {
    return indexInRow(scalars(), schedule.space, tensor, row, column);
  }
  SmallVector<Value> rowIndex(Value tensor) {
    return scalars().delinearize(row, tensorType(tensor).getShape());
  }
  Value flatIndex(Value tensor) {
    return scalars().linearize(fullIndex(tensor),
                               tensorType(tensor).getShape());
  }

  RowSchedule schedule;
  /// The buffers of the kept values.
  llvm::DenseMap<Value, Value> kept;
  Value row, column;
  /// The number of elements of the current row.
  Value length;
};

void RowEmitter::allocateKept() {
  int64_t bytes = 0;
  for (RowPhase &phase : schedule.phases)
    llvm::erase_if(phase.kept, [&](Value value) {
      Type type = codeType(tensorType(value).getElementType());
      int64_t size = schedule.space.length *
                     llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
      if (bytes + size > kKeptBytes)
        return true;
      bytes += size;
      kept[value] = memref::AllocaOp::create(
          builder, loc, MemRefType::get({schedule.space.length}, type),
          builder.getI64IntegerAttr(64));
      return false;
    });
}

void RowEmitter::storePerRow(Value tensor, Value element) {
  for (auto [result, buffer] :
       llvm::zip_equal(yield()->getOperands(), outputs()))
    if (result == tensor)
      memref::StoreOp::create(builder, loc, element, buffer, row);
}

void RowEmitter::emitPass(ElementEmitter &emitter, RowPhase &phase) {
  SmallVector<Value> sums;
  for (Reduction reduction : phase.reductions)
    sums.push_back(reduction.emitIdentity(builder, loc));
  auto loop = scf::ForOp::create(builder, loc, scalars().index(0), length,
                                 scalars().index(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    column = loop.getInductionVar();
    auto element = [&](Value tensor) {
      return emitter.element(tensor, fullIndex(tensor));
    };
    // All elements are computed before the first store, because results may
    // overwrite inputs.
    SmallVector<Value> kepts, stored, next;
    for (Value value : phase.kept)
      kepts.push_back(element(value));
    for (unsigned i : phase.stored)
      stored.push_back(element(yield()->getOperand(i)));
    for (auto [reduction, sum] :
         llvm::zip_equal(phase.reductions, loop.getRegionIterArgs()))
      next.push_back(reduction.emitCombine(builder, loc, sum,
                                           element(reduction->getOperand(0))));
    for (auto [value, made] : llvm::zip_equal(phase.kept, kepts))
      memref::StoreOp::create(builder, loc, made, kept[value], column);
    for (auto [i, made] : llvm::zip_equal(phase.stored, stored))
      memref::StoreOp::create(builder, loc, made, outputs()[i],
                              flatIndex(yield()->getOperand(i)));
    if (!next.empty())
      scf::YieldOp::create(builder, loc, next);
  }
  for (auto [reduction, sum] :
       llvm::zip_equal(phase.reductions, loop.getResults())) {
    Value result = reduction->getResult(0);
    Value rounded = scalars().convertFloat(
        sum, codeType(tensorType(result).getElementType()));
    emitter.setSource(result, [=](ValueRange) { return rounded; });
    storePerRow(result, rounded);
  }
}

void RowEmitter::emitPhase(ElementEmitter &emitter, RowPhase &phase) {
  for (Value value : phase.perRow) {
    Value element = emitter.element(value, rowIndex(value));
    if (schedule.reads.isAligned(value))
      emitter.setSource(value, [=](ValueRange) { return element; });
    storePerRow(value, element);
  }
  if (!phase.hasPass())
    return;
  emitPass(emitter, phase);
  for (Value value : phase.kept)
    emitter.setSource(value, [this, buffer = kept[value]](ValueRange) -> Value {
      return memref::LoadOp::create(builder, loc, buffer, column);
    });
  for (unsigned i : phase.stored) {
    Value result = yield()->getOperand(i);
    if (!schedule.reads.isAligned(result))
      continue;
    emitter.setSource(result, [=, this](ValueRange) -> Value {
      return memref::LoadOp::create(builder, loc, outputs()[i],
                                    flatIndex(result));
    });
  }
}

Extent RowEmitter::run() {
  createFunction();
  allocateKept();
  const RowSpace &space = schedule.space;
  length = scalars().index(space.length);
  // Iterations of blocks are elements, as those of other kernels on shards are:
  // a thread has the blocks whose first elements it has.
  if (space.inBlocks)
    for (Value *bound : {&begin, &end})
      *bound =
          scalars().div(scalars().add(*bound, space.length - 1), space.length);
  auto rows = scf::ForOp::create(builder, loc, begin, end, scalars().index(1));
  builder.setInsertionPointToStart(rows.getBody());
  row = rows.getInductionVar();
  if (space.inBlocks % space.length != 0) {
    Value left = scalars().sub(scalars().index(space.inBlocks),
                               scalars().mul(row, space.length));
    length = arith::MinSIOp::create(builder, loc, length, left);
  }
  ElementEmitter emitter(kernel, builder, inputs());
  for (BlockArgument argument : body.getArguments())
    if (schedule.space.hasElementPerRow(argument) &&
        schedule.reads.isAligned(argument)) {
      Value element = emitter.element(argument, rowIndex(argument));
      emitter.setSource(argument, [=](ValueRange) { return element; });
    }
  for (RowPhase &phase : schedule.phases)
    emitPhase(emitter, phase);
  finishFunction();
  if (space.inBlocks)
    return {space.inBlocks, kElementsPerThread};
  return {schedule.space.rows,
          std::max<int64_t>(1, kElementsPerThread / schedule.space.length)};
}

} // namespace

Extent codegen::emitRows(exec::KernelOp kernel) {
  return RowEmitter(kernel).run();
}
