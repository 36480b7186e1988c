// SPDX-License-Identifier: Apache-2.0

#include "passes/cost/gpu/KernelWork.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::gpu_model;

namespace {

/// Walks a function with the number of times that a thread gets to each op.
class Counter {
public:
  Counter(gpu::GPUFuncOp function, double blocks, double threads)
      : function(function), blocks(blocks), threads(threads), endBlock(blocks) {
  }

  FunctionWork count(int64_t sharedBytes) {
    work.passes.assign(function.getNumArguments(), 0);
    visit(function.getBody(), 1);
    for (auto &[key, read] : reads) {
      auto type = cast<MemRefType>(key.first.getType());
      double whole = static_cast<double>(type.getNumElements()) *
                     getBytes(type.getElementType());
      double &passes =
          work.passes[cast<BlockArgument>(key.first).getArgNumber()];
      if (whole > 0)
        passes += std::min(1.0, read * blocks * threads / whole);
    }
    work.kernel.blocks = blocks;
    work.kernel.threadsPerBlock = threads;
    work.kernel.sharedBytes = static_cast<double>(sharedBytes);
    work.kernel.waits = std::max(1.0, waits);
    return std::move(work);
  }

private:
  static double getBytes(Type type) {
    return std::max(1.0,
                    type.isIndex() ? 8.0 : type.getIntOrFloatBitWidth() / 8.0);
  }

  double average(Value value);
  double countTrips(scf::ForOp loop);
  void visit(Region &region, double times);
  void visit(Operation &op, double times);
  void visitBranches(scf::IfOp branch, double times);
  void access(Operation &op, Value memory, bool isRead, double times);

  gpu::GPUFuncOp function;
  double blocks, threads, waits = 0;
  /// The blocks that get to where the walk is.
  double firstBlock = 0, endBlock;
  FunctionWork work;
  /// The bytes that a thread reads, by argument and innermost loop.
  llvm::MapVector<std::pair<Value, Operation *>, double> reads;
  llvm::DenseMap<Value, double> averages;
};

} // namespace

/// Returns the average of an index over all threads and iterations; 0 for what
/// is read from memory.
double Counter::average(Value value) {
  if (auto found = averages.find(value); found != averages.end())
    return found->second;
  double result = 0;
  Operation *op = value.getDefiningOp();
  APInt constant;
  if (auto loop =
          op ? scf::ForOp()
             : dyn_cast<scf::ForOp>(value.getParentBlock()->getParentOp());
      loop && value == loop.getInductionVar()) {
    result =
        (average(loop.getLowerBound()) + average(loop.getUpperBound())) / 2;
  } else if (!op) {
    result = 0;
  } else if (matchPattern(value, m_ConstantInt(&constant))) {
    result = static_cast<double>(constant.getSExtValue());
  } else if (isa<gpu::ThreadIdOp>(op)) {
    result = (threads - 1) / 2;
  } else if (isa<gpu::BlockIdOp>(op)) {
    result = (blocks - 1) / 2;
  } else if (isa<gpu::GridDimOp>(op)) {
    result = blocks;
  } else if (isa<gpu::BlockDimOp>(op)) {
    result = threads;
  } else if (op->getNumOperands() == 1 && op->getNumResults() == 1) {
    result = average(op->getOperand(0));
  } else if (isa<arith::SelectOp>(op)) {
    result = (average(op->getOperand(1)) + average(op->getOperand(2))) / 2;
  } else if (op->getNumOperands() == 2) {
    double a = average(op->getOperand(0)), b = average(op->getOperand(1));
    if (isa<arith::AddIOp>(op))
      result = a + b;
    else if (isa<arith::SubIOp>(op))
      result = a - b;
    else if (isa<arith::MulIOp>(op))
      result = a * b;
    else if (isa<arith::DivSIOp, arith::DivUIOp>(op))
      result = b == 0 ? 0 : a / b;
    else if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
      result = b == 0 ? 0 : std::ceil(a / b);
    else if (isa<arith::RemSIOp, arith::RemUIOp>(op))
      result = std::min(a, (b - 1) / 2);
    else if (isa<arith::MinSIOp, arith::MinUIOp>(op))
      result = std::min(a, b);
    else if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
      result = std::max(a, b);
  }
  averages[value] = result;
  return result;
}

double Counter::countTrips(scf::ForOp loop) {
  double step = average(loop.getStep());
  double length = average(loop.getUpperBound()) - average(loop.getLowerBound());
  if (step <= 0)
    return 1;
  // Where threads begin one after the other, the first ones have an iteration
  // more than the last ones.
  APInt begin;
  return matchPattern(loop.getLowerBound(), m_ConstantInt(&begin))
             ? std::max(0.0, std::ceil(length / step))
             : std::max(0.0, length / step + 0.5);
}

void Counter::visit(Region &region, double times) {
  for (Block &block : region)
    for (Operation &op : block)
      visit(op, times);
}

void Counter::access(Operation &op, Value memory, bool isRead, double times) {
  auto type = cast<MemRefType>(memory.getType());
  double bytes = getBytes(type.getElementType());
  // Vectors of 16 bytes are one instruction.
  constexpr double widest = 16;
  work.kernel.instructions += times * bytes / widest;
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!argument || !isRead ||
      argument.getOwner() != &function.getBody().front() ||
      argument.getArgNumber() >= function.getNumArguments())
    return;
  reads[{memory, op.getParentOp()}] += times * bytes;
}

void Counter::visitBranches(scf::IfOp branch, double times) {
  auto test = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  APInt bound;
  bool chooses =
      test && test.getPredicate() == arith::CmpIPredicate::slt &&
      isa_and_nonnull<gpu::BlockIdOp>(test.getLhs().getDefiningOp()) &&
      matchPattern(test.getRhs(), m_ConstantInt(&bound));
  if (!chooses) {
    double share = branch.getElseRegion().empty() ? 1 : 0.5;
    visit(branch.getThenRegion(), times * share);
    visit(branch.getElseRegion(), times * share);
    return;
  }
  // Parts of a group: each block runs one.
  double first = firstBlock, end = endBlock;
  double middle =
      std::clamp(static_cast<double>(bound.getSExtValue()), first, end);
  auto visitPart = [&](Region &part, double from, double to) {
    firstBlock = from;
    endBlock = to;
    averages[test.getLhs()] = (from + to - 1) / 2;
    visit(part, times * (to - from) / std::max(1.0, end - first));
  };
  visitPart(branch.getThenRegion(), first, middle);
  visitPart(branch.getElseRegion(), middle, end);
  firstBlock = first;
  endBlock = end;
  averages[test.getLhs()] = (first + end - 1) / 2;
}

void Counter::visit(Operation &op, double times) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    double trips = countTrips(loop);
    // A loop that reads what it has written waits for each iteration; others
    // have several loads under way.
    llvm::SmallPtrSet<Value, 8> read, written;
    for (Operation &inner : *loop.getBody()) {
      if (auto load = dyn_cast<memref::LoadOp>(inner))
        read.insert(load.getMemRef());
      if (auto store = dyn_cast<memref::StoreOp>(inner))
        written.insert(store.getMemRef());
    }
    bool updates = llvm::any_of(
        read, [&](Value memory) { return written.contains(memory); });
    constexpr double underWay = 4;
    if (!read.empty())
      waits += times * trips / (updates ? 1 : underWay);
    visit(loop.getRegion(), times * trips);
    return;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitBranches(branch, times);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return access(op, load.getMemRef(), /*isRead=*/true, times);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return access(op, store.getMemRef(), /*isRead=*/false, times);
  for (Region &region : op.getRegions())
    visit(region, times);
  if (op.getNumResults() == 0 || op.hasTrait<OpTrait::ConstantLike>())
    return;
  // Indices are mostly combined once, outside of loops, by the compiler.
  // Divisions and roots are sequences.
  constexpr double index = 0.25, sequence = 8;
  Type type = op.getResult(0).getType();
  double cost = type.isIndex() ? index : 1;
  if (isa<arith::DivFOp>(op) || op.getName().getStringRef() == "math.sqrt")
    cost = sequence;
  work.kernel.instructions += times * cost;
}

FunctionWork gpu_model::countWork(gpu::GPUFuncOp function, int64_t blocks,
                                  int64_t threadsPerBlock,
                                  int64_t sharedBytes) {
  return Counter(function, static_cast<double>(blocks),
                 static_cast<double>(threadsPerBlock))
      .count(sharedBytes);
}
