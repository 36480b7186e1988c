// SPDX-License-Identifier: Apache-2.0

#include "passes/cost/gpu/KernelWork.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <map>

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
    function.walk(
        [&](memref::StoreOp store) { written.insert(store.getMemRef()); });
    loopTimes.push_back(1);
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
  void visitLoop(scf::ForOp loop, double times);
  void visitBranches(scf::IfOp branch, double times);
  void countAccesses(Block &block, double times);
  void countRead(Operation &op, Value memory, double times);
  double getLaneShare(Value condition);
  unsigned getDepth(Value value) const;
  double hoist(Operation &op, double times);
  bool isUnchanged(Value memory) const;
  /// The loads that a thread waits for one after the other.
  struct Chain {
    /// How many there are before a value is known.
    llvm::DenseMap<Value, unsigned> after;
    /// The longest chain of loads of all values, and of those before the last
    /// barrier.
    unsigned longest = 0, behind = 0;
    /// Loads in fewer loops are done before.
    unsigned depth = 0;
  };
  void followLoads(Block &block, unsigned before, Chain &chain) const;
  double countWaits(Block &block) const;

  gpu::GPUFuncOp function;
  double blocks, threads, waits = 0;
  /// The blocks that get to where the walk is.
  double firstBlock = 0, endBlock;
  FunctionWork work;
  /// The bytes that a thread reads, by argument and innermost loop.
  llvm::MapVector<std::pair<Value, Operation *>, double> reads;
  llvm::DenseMap<Value, double> averages;
  /// How often the body of each loop around the walk runs, and before all of
  /// them the function's.
  SmallVector<double> loopTimes;
  /// The loops around the place where the compiler computes a value.
  llvm::DenseMap<Value, unsigned> depths;
  llvm::SmallPtrSet<Value, 8> written;
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

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// An index as the sum of values and of a constant.
static std::pair<SmallVector<void *>, int64_t> splitIndex(Value index) {
  SmallVector<void *> terms;
  int64_t offset = 0;
  SmallVector<Value> left = {index};
  while (!left.empty()) {
    Value value = left.pop_back_val();
    APInt constant;
    if (auto sum = value.getDefiningOp<arith::AddIOp>())
      left.append({sum.getLhs(), sum.getRhs()});
    else if (matchPattern(value, m_ConstantInt(&constant)))
      offset += constant.getSExtValue();
    else
      terms.push_back(value.getAsOpaquePointer());
  }
  llvm::sort(terms);
  return {std::move(terms), offset};
}

static bool isOnChip(Value memory) {
  return gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(
      cast<MemRefType>(memory.getType()));
}

/// Counts the instructions of a block's loads and stores: those of neighbours
/// are one of up to 16 bytes (the vectorizer of loads and stores), any other is
/// one of its own.
void Counter::countAccesses(Block &block, double times) {
  struct Group {
    double bytes;
    unsigned depth;
    SmallVector<int64_t> offsets;
  };
  SmallVector<Group> groups;
  std::map<std::tuple<void *, bool, unsigned, SmallVector<void *>>, size_t>
      numbers;
  auto add = [&](Value memory, ValueRange indices, bool isStore,
                 unsigned depth) {
    // Dimensions before the last one are the same for neighbours.
    SmallVector<void *> terms;
    int64_t offset = 0;
    if (!indices.empty()) {
      std::tie(terms, offset) = splitIndex(indices.back());
      for (Value index : indices.drop_back())
        terms.push_back(index.getAsOpaquePointer());
    }
    auto [number, isNew] = numbers.try_emplace(
        {memory.getAsOpaquePointer(), isStore, depth, std::move(terms)},
        groups.size());
    if (isNew)
      groups.push_back(
          {getBytes(cast<MemRefType>(memory.getType()).getElementType()),
           depth,
           {}});
    groups[number->second].offsets.push_back(offset);
  };
  for (Operation &op : block) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      add(load.getMemRef(), load.getIndices(), false, getDepth(load));
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      add(store.getMemRef(), store.getIndices(), true,
          static_cast<unsigned>(loopTimes.size()) - 1);
  }
  for (auto &[bytes, depth, offsets] : groups) {
    constexpr double widest = 16;
    llvm::sort(offsets);
    offsets.erase(llvm::unique(offsets), offsets.end());
    double count = 0;
    for (size_t i = 0, end = 0; i < offsets.size(); i = end) {
      for (end = i + 1;
           end < offsets.size() && offsets[end] == offsets[end - 1] + 1; ++end)
        ;
      count += std::ceil(static_cast<double>(end - i) * bytes / widest);
    }
    work.kernel.instructions += count * std::min(times, loopTimes[depth]);
  }
}

void Counter::countRead(Operation &op, Value memory, double times) {
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!argument || argument.getOwner() != &function.getBody().front() ||
      argument.getArgNumber() >= function.getNumArguments())
    return;
  double bytes = getBytes(cast<MemRefType>(memory.getType()).getElementType());
  reads[{memory, op.getParentOp()}] += times * bytes;
}

/// Whether an iteration begins when the last one is done: a loop that reads
/// what it has written, or whose threads meet.
static bool isInTurn(scf::ForOp loop) {
  llvm::SmallPtrSet<Value, 8> read, stored;
  for (Operation &op : *loop.getBody()) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      read.insert(load.getMemRef());
    if (auto store = dyn_cast<memref::StoreOp>(op);
        store && !isOnChip(store.getMemRef()))
      stored.insert(store.getMemRef());
    if (isa<gpu::BarrierOp>(op))
      return true;
  }
  return llvm::any_of(read,
                      [&](Value memory) { return stored.contains(memory); });
}

/// Whether the compiler unrolls a loop altogether, so that the loads of all
/// iterations are under way together.
static bool isUnrolled(scf::ForOp loop) {
  APInt begin, end, step;
  constexpr int64_t most = 8;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&begin)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
      step.getSExtValue() <= 0 || isInTurn(loop))
    return false;
  return end.getSExtValue() - begin.getSExtValue() <=
         most * step.getSExtValue();
}

/// Follows the loads of a block and of its branches, which are predicated or
/// jumped over, without waiting for other loads.
void Counter::followLoads(Block &block, unsigned before, Chain &chain) const {
  for (Operation &op : block) {
    if (isa<gpu::BarrierOp>(op))
      chain.behind = chain.longest;
    unsigned waits = before;
    for (Value operand : op.getOperands())
      waits = std::max(waits, chain.after.lookup(operand));
    auto loop = dyn_cast<scf::ForOp>(op);
    if (isa<scf::IfOp>(op) || (loop && isUnrolled(loop)))
      for (Region &region : op.getRegions())
        for (Block &inner : region) {
          followLoads(inner, waits, chain);
          for (Value operand : inner.getTerminator()->getOperands())
            waits = std::max(waits, chain.after.lookup(operand));
        }
    auto load = dyn_cast<memref::LoadOp>(op);
    if (load && !isOnChip(load.getMemRef()) && getDepth(load) >= chain.depth)
      waits = std::max(waits, chain.behind) + 1;
    chain.longest = std::max(chain.longest, waits);
    for (Value result : op.getResults())
      chain.after[result] = waits;
  }
}

/// Returns how often a thread waits for the memory of the GPU in a block, apart
/// from its loops: loads whose addresses other loads give, and loads behind a
/// barrier, wait for what is before them.
double Counter::countWaits(Block &block) const {
  Chain chain;
  chain.depth = static_cast<unsigned>(loopTimes.size()) - 1;
  followLoads(block, /*before=*/0, chain);
  return chain.longest;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

unsigned Counter::getDepth(Value value) const {
  auto found = depths.find(value);
  return found == depths.end() ? 0 : found->second;
}

/// Whether no store of the function, whose buffers do not overlap, changes it.
bool Counter::isUnchanged(Value memory) const {
  return !isOnChip(memory) && !written.contains(memory);
}

/// Returns how often an operation runs where the compiler puts it: outside of
/// the loops that change none of its operands.
double Counter::hoist(Operation &op, double times) {
  auto depth = static_cast<unsigned>(loopTimes.size()) - 1;
  auto load = dyn_cast<memref::LoadOp>(op);
  bool isFree = load ? isUnchanged(load.getMemRef()) : isMemoryEffectFree(&op);
  if (isFree && op.getNumRegions() == 0) {
    unsigned inner = 0;
    for (Value operand : op.getOperands())
      inner = std::max(inner, getDepth(operand));
    depth = std::min(depth, inner);
  }
  for (Value result : op.getResults())
    depths[result] = depth;
  return std::min(times, loopTimes[depth]);
}

void Counter::visit(Region &region, double times) {
  for (Block &block : region) {
    auto depth = static_cast<unsigned>(loopTimes.size()) - 1;
    for (Value argument : block.getArguments())
      depths[argument] = depth;
    for (Operation &op : block)
      visit(op, times);
    countAccesses(block, times);
    // Those of loops are counted with the loop, and those of branches with
    // the block around them.
    if (!isa<scf::ForOp, scf::IfOp>(block.getParentOp()))
      waits += times * countWaits(block);
  }
}

/// Returns the share of warps in which some thread takes a branch: only where
/// the condition bounds the thread's number it is not all of them.
double Counter::getLaneShare(Value condition) {
  auto test = condition.getDefiningOp<arith::CmpIOp>();
  APInt bound;
  if (!test ||
      !isa_and_nonnull<gpu::ThreadIdOp>(test.getLhs().getDefiningOp()) ||
      !matchPattern(test.getRhs(), m_ConstantInt(&bound)))
    return 1;
  constexpr double warp = 32;
  double lanes = 0;
  switch (test.getPredicate()) {
  case arith::CmpIPredicate::eq:
    lanes = 1;
    break;
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    lanes = static_cast<double>(bound.getSExtValue());
    break;
  default:
    return 1;
  }
  return std::min(1.0, std::ceil(lanes / warp) * warp / threads);
}

void Counter::visitBranches(scf::IfOp branch, double times) {
  auto test = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  APInt bound;
  bool chooses =
      test && test.getPredicate() == arith::CmpIPredicate::slt &&
      isa_and_nonnull<gpu::BlockIdOp>(test.getLhs().getDefiningOp()) &&
      matchPattern(test.getRhs(), m_ConstantInt(&bound));
  if (!chooses) {
    double share = branch.getElseRegion().empty()
                       ? getLaneShare(branch.getCondition())
                       : 0.5;
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

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void Counter::visitLoop(scf::ForOp loop, double times) {
  double trips = countTrips(loop);
  // Several iterations are under way: those that are unrolled.
  double underWay = 4;
  if (auto annotation =
          loop->getAttrOfType<LLVM::LoopAnnotationAttr>("loop_annotation");
      annotation && annotation.getUnroll() && annotation.getUnroll().getCount())
    underWay = static_cast<double>(
        annotation.getUnroll().getCount().getValue().getSExtValue());
  if (isInTurn(loop))
    underWay = 1;
  loopTimes.push_back(times * trips);
  visit(loop.getRegion(), times * trips);
  if (!isUnrolled(loop))
    waits += times * trips * countWaits(*loop.getBody()) / underWay;
  loopTimes.pop_back();
  for (Value result : loop.getResults())
    depths[result] = static_cast<unsigned>(loopTimes.size()) - 1;
}

/// Whether an operation rounds to 16 bits beside others that do: one
/// instruction rounds two numbers. LLVM moves it into a choice of constants,
/// where it stays alone.
static bool isRoundedInPairs(LLVM::FPTruncOp round) {
  auto isFit = [](Operation &op) {
    auto other = dyn_cast<LLVM::FPTruncOp>(op);
    return other && !other.getArg().getDefiningOp<arith::SelectOp>();
  };
  return isFit(*round) && llvm::count_if(*round->getBlock(), isFit) > 1;
}

/// Returns the instructions of an operation that is not an access.
static double countInstructions(Operation &op) {
  // Divisions and roots are sequences with a branch for denormal numbers.
  // Indices are mostly constants in addresses. Of two numbers of 16 bits in a
  // register, one is moved out of or into its upper half. Products and sums are
  // not contracted, since results shall not depend on it.
  constexpr double index = 0.25, sequence = 10, half = 0.5, alone = 1.5;
  Type type = op.getResult(0).getType();
  if (type.isIndex())
    return index;
  if (isa<arith::BitcastOp, LLVM::BitcastOp>(op))
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return sequence;
  if (isa<math::ExpOp>(op))
    return 2;
  if (auto round = dyn_cast<LLVM::FPTruncOp>(op))
    return isRoundedInPairs(round) ? half : alone;
  Type from = op.getNumOperands() == 0 ? type : op.getOperand(0).getType();
  if ((isa<arith::ExtUIOp, arith::ExtSIOp>(op) && from.isInteger(16)) ||
      (isa<arith::TruncIOp>(op) && type.isInteger(16)))
    return half;
  // Registers have 32 bits; indices and constants need no more. An index that
  // is more than part of an address is computed: its cast stands for that.
  auto isWide = [](Value value) {
    return value.getType().isInteger(64) &&
           !value.getDefiningOp<arith::IndexCastOp>() &&
           !matchPattern(value, m_Constant());
  };
  return llvm::any_of(op.getOperands(), isWide) ? 2 : 1;
}

void Counter::visit(Operation &op, double times) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitLoop(loop, times);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    hoist(op, times);
    return visitBranches(branch, times);
  }
  double placed = hoist(op, times);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return countRead(op, load.getMemRef(), times);
  for (Region &region : op.getRegions())
    visit(region, times);
  if (op.getNumResults() == 0 || op.hasTrait<OpTrait::ConstantLike>())
    return;
  work.kernel.instructions += placed * countInstructions(op);
}

FunctionWork gpu_model::countWork(gpu::GPUFuncOp function, int64_t blocks,
                                  int64_t threadsPerBlock,
                                  int64_t sharedBytes) {
  return Counter(function, static_cast<double>(blocks),
                 static_cast<double>(threadsPerBlock))
      .count(sharedBytes);
}
