// SPDX-License-Identifier: Apache-2.0

#include "passes/codegen/RowSchedule.h"

#include "dialects/ingot/builders/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

/// The number of operations per element from which on a value is kept rather
/// than recomputed from the row.
static constexpr int64_t kWorthKeeping = 8;

/// The threads that share a longer row may be those of several warps, which
/// wait for each other at the end of a reduction; lanes of a warp do not.
static constexpr int64_t kLeastBarrier = 1024;

static SmallVector<Operation *> opsOf(Block &body) {
  return llvm::to_vector_of<Operation *>(
      llvm::make_pointer_range(body.without_terminator()));
}

static SmallVector<Value> resultsOf(Block &body) {
  return llvm::to_vector(body.getTerminator()->getOperands());
}

namespace {
/// Determines the phase of every value.
class Scheduler {
public:
  Scheduler(Block &body, RowSchedule &schedule)
      : ops(opsOf(body)), results(resultsOf(body)), schedule(schedule) {}

  void run() {
    for (Operation *op : ops)
      place(op);
    for (auto [i, result] : llvm::enumerate(results)) {
      if (schedule.space.hasElementPerRow(result))
        continue;
      Operation *op = result.getDefiningOp();
      RowPhase &at = phase(knownAt(result));
      (op && schedule.space.isOverRows(op) ? at.overRows : at.stored)
          .push_back(i);
    }
    for (unsigned i = 0; i < schedule.phases.size(); ++i) {
      for (Reduction reduction : schedule.phases[i].reductions)
        need(reduction->getOperand(0), i);
      for (unsigned result : schedule.phases[i].stored)
        need(results[result], i);
      for (unsigned result : schedule.phases[i].overRows)
        need(results[result].getDefiningOp()->getOperand(0), i);
    }
  }

private:
  RowPhase &phase(unsigned i) {
    if (schedule.phases.size() <= i)
      schedule.phases.resize(i + 1);
    return schedule.phases[i];
  }

  /// Returns the first phase that can use a value.
  unsigned knownAt(Value value) const { return known.lookup(value); }

  void place(Operation *op) {
    unsigned first = 0;
    for (Value operand : op->getOperands())
      first = std::max(first, knownAt(operand));
    auto reduction = dyn_cast<Reduction>(op);
    bool folds = reduction && cast<ScalarBody>(op).isLooped() &&
                 !schedule.space.isOverRows(op);
    for (Value result : op->getResults()) {
      known[result] = folds ? first + 1 : first;
      bool isWanted = schedule.reads.isAligned(result) ||
                      llvm::is_contained(results, result);
      if (!folds && schedule.space.hasElementPerRow(result) && isWanted)
        phase(first).perRow.push_back(result);
    }
    if (folds) {
      phase(first).reductions.push_back(reduction);
      phase(first + 1);
    }
  }

  /// Records that the pass of a phase computes a value.
  void need(Value value, unsigned at) {
    Operation *op = value.getDefiningOp();
    if (!op || schedule.space.hasElementPerRow(value))
      return;
    if (!seen.insert({value, at}).second)
      return;
    unsigned earlier = neededAt.try_emplace(value, at).first->second;
    if (earlier < at && schedule.reads.isAligned(value)) {
      if (llvm::is_contained(results, value))
        return;
      int64_t work = cast<CostModel>(op).getFlops() /
                     std::max<int64_t>(1, tensorType(value).getNumElements());
      // Blocks are short, and what they are computed of may be overwritten.
      if (work >= kWorthKeeping || schedule.space.inBlocks) {
        SmallVector<Value> &kept = schedule.phases[earlier].kept;
        if (!llvm::is_contained(kept, value))
          kept.push_back(value);
        return;
      }
    }
    for (Value operand : op->getOperands())
      need(operand, at);
  }

  SmallVector<Operation *> ops;
  SmallVector<Value> results;
  RowSchedule &schedule;
  llvm::DenseMap<Value, unsigned> known;
  /// The first pass that computes each value.
  llvm::DenseMap<Value, unsigned> neededAt;
  llvm::DenseSet<std::pair<Value, unsigned>> seen;
};
} // namespace

RowSchedule::RowSchedule(Block &body)
    : space(*RowSpace::of(opsOf(body))),
      reads(space, opsOf(body), resultsOf(body), /*given=*/nullptr,
            /*sumsRows=*/true) {
  Scheduler(body, *this).run();
}

bool RowSchedule::mayOverwrite(Block &body, unsigned argument, unsigned result,
                               bool isShared) const {
  BlockArgument whole = body.getArgument(argument);
  SmallVector<Value> results = resultsOf(body);
  // What blocks have in common is read before their first pass.
  if (space.inBlocks && space.hasElementPerRow(whole) &&
      space.hasElementPerRow(results[result]))
    return reads.isAligned(whole);
  Operation *made = results[result].getDefiningOp();
  if (space.hasElementPerRow(whole) ||
      space.hasElementPerRow(results[result]) ||
      (made && space.isOverRows(made)))
    return false;
  unsigned written = 0;
  while (written < phases.size() &&
         !llvm::is_contained(phases[written].stored, result))
    ++written;
  // What is known before the pass of a phase, or beside it, is not computed
  // again.
  llvm::DenseSet<Value> known;
  bool may = true;
  // Where a value is read: at the current element, elsewhere in the row, or in
  // other rows, which may have been written.
  enum Position : unsigned { AtElement, InRow, Anywhere };
  auto visit = [&](Value root, unsigned phase) {
    SmallVector<std::pair<Value, unsigned>> work = {{root, AtElement}};
    llvm::DenseSet<std::pair<Value, unsigned>> seen;
    while (!work.empty()) {
      auto [value, position] = work.pop_back_val();
      if (known.contains(value) || !seen.insert({value, position}).second)
        continue;
      if (value == whole && position == AtElement)
        may &= phase <= written;
      else if (value == whole)
        may &= position == InRow && phase < written &&
               (!isShared || space.length > kLeastBarrier);
      Operation *op = value.getDefiningOp();
      if (!op)
        continue;
      for (OpOperand &read : op->getOpOperands())
        if (position == AtElement && reads.readsAligned(op, read))
          work.push_back({read.get(), AtElement});
        else if (position != Anywhere && reads.readsWithinRow(op, read))
          work.push_back({read.get(), InRow});
        else
          work.push_back({read.get(), Anywhere});
    }
  };
  for (auto [number, phase] : llvm::enumerate(phases)) {
    for (Value value : phase.perRow) {
      visit(value, number);
      if (reads.isAligned(value))
        known.insert(value);
    }
    for (Reduction reduction : phase.reductions) {
      visit(reduction->getOperand(0), number);
      known.insert_range(reduction->getResults());
    }
    for (unsigned stored : phase.stored)
      visit(results[stored], number);
    for (unsigned sum : phase.overRows)
      visit(results[sum].getDefiningOp()->getOperand(0), number);
    // Of blocks, all that is worth keeping is kept.
    if (space.inBlocks)
      known.insert_range(phase.kept);
  }
  return may;
}

SmallVector<Value> codegen::indexInRow(const ScalarEmitter &e,
                                       const RowSpace &space, Value tensor,
                                       Value row, Value column) {
  ArrayRef<int64_t> shape = tensorType(tensor).getShape();
  if (space.inBlocks)
    return e.delinearize(e.add(e.mul(row, space.length), column), shape);
  size_t split = *space.split(shape);
  SmallVector<Value> index = e.delinearize(row, shape.take_front(split));
  llvm::append_range(index, e.delinearize(column, shape.drop_front(split)));
  return index;
}
