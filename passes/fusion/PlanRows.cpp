// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Which nodes share rows: reductions along rows, what is computed of them, and
// what else is computed of the same rows.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/builders/Builders.h"
#include "passes/fusion/FusionPlan.h"

using namespace mlir;
using namespace ingot;

/// Stores the operand of a reduction that chooses elements of rows, one of each
/// row, where another reduction reads the rows: the loss of a label, beside the
/// sum of exponentials. A kernel that has the row at hand computes it too.
void FusionPlan::storeChosen() {
  if (!limits.rows)
    return;
  // The stored value that a computed one has the elements of.
  auto findWhole = [&](Value value) {
    while (Operation *def = value.getDefiningOp()) {
      bool keeps = isWithin(def) && def->getNumOperands() == 1 &&
                   (def->hasTrait<SameBytes>() ||
                    cast<ScalarBody>(def).readsPointwise(/*operand=*/0));
      if (!keeps)
        break;
      value = def->getOperand(0);
    }
    return value;
  };
  DenseMap<Value, int64_t> rowsOf;
  for (Operation &op : block) {
    auto reduction = dyn_cast<Reduction>(op);
    if (!reduction || !isLooped(&op))
      continue;
    if (std::optional<RowSpace> space = RowSpace::of(reduction))
      rowsOf[findWhole(op.getOperand(0))] = space->rows;
  }
  for (Operation &op : block) {
    Operation *operand = isa<Reduction>(op) && isLooped(&op)
                             ? op.getOperand(0).getDefiningOp()
                             : nullptr;
    if (!isWithin(operand))
      continue;
    llvm::SetVector<Operation *> within;
    within.insert(operand);
    bool chooses = false;
    for (size_t i = 0; i < within.size() && !chooses; ++i)
      for (OpOperand &read : within[i]->getOpOperands()) {
        auto body = cast<ScalarBody>(within[i]);
        chooses |= !within[i]->hasTrait<SameBytes>() &&
                   !body.getReadDims(read.getOperandNumber()) &&
                   rowsOf.lookup(findWhole(read.get())) ==
                       tensorType(within[i]->getResult(0)).getNumElements();
        if (Operation *def = read.get().getDefiningOp(); isWithin(def))
          within.insert(def);
      }
    if (chooses)
      storeThroughViews(operand);
  }
}

/// Returns true if two nodes form a row kernel that is profitable.
bool FusionPlan::formRows(const FusionNode &a, const FusionNode &b,
                          bool reads) const {
  // With fewer rows some cores would be idle, and shorter rows do not fill
  // vectors.
  constexpr int64_t minRows = 16, minLength = 16;
  auto isSharded = [&](Operation *root) {
    return shards.lookup(root->getResult(0)) != nullptr;
  };
  if (!limits.rows || llvm::any_of(a.roots, isSharded) ||
      llvm::any_of(b.roots, isSharded))
    return false;
  llvm::SetVector<Operation *> ops;
  ops.insert_range(a.ops);
  ops.insert_range(b.ops);
  std::optional<RowSpace> space = RowSpace::of(ops.getArrayRef());
  if (!space || space->rows < minRows || space->length < minLength)
    return false;
  bool sharesRow = llvm::any_of(a.inputs, [&](Value input) {
    return b.inputs.contains(input) &&
           tensorType(input).getNumElements() == space->rows * space->length;
  });
  if (!reads && !sharesRow)
    return false;
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted, [&](Operation *x, Operation *y) {
    return position.lookup(x) < position.lookup(y);
  });
  SmallVector<Value> results;
  for (Operation *root : llvm::concat<Operation *const>(a.roots, b.roots))
    llvm::append_range(results, root->getResults());
  // Threads keep the sums over rows, of each of their columns, in registers.
  constexpr int64_t mostSums = 4;
  bool sumsRows = limits.sumsRows && limits.sumsRows(*space) &&
                  llvm::count_if(sorted, [&](Operation *op) {
                    return space->isOverRows(op);
                  }) <= mostSums;
  return !RowReads(*space, sorted, results, /*given=*/nullptr, sumsRows)
              .getConflict();
}

/// Returns true if a kernel of both reductions would come between two nodes
/// that share rows: one of the reductions needs what the first of them makes,
/// and the second of them needs the other reduction. The count of labels by
/// which a gradient is divided would wait for the sum of losses.
bool FusionPlan::separatesRows(unsigned earlier, unsigned later) const {
  auto separates = [&](unsigned a, unsigned b) {
    for (Value input : nodes[a].inputs) {
      Operation *def = input.getDefiningOp();
      if (!def)
        continue;
      unsigned maker = nodeOf.lookup(def);
      for (unsigned reader : graph.getSuccessors(b))
        if (maker != b && reader != a && maker < reader &&
            !(nodes[maker].kind == FusionKind::Reduction &&
              nodes[reader].kind == FusionKind::Reduction) &&
            mergedKind(maker, reader) == FusionKind::Row)
          return true;
    }
    return false;
  };
  return separates(earlier, later) || separates(later, earlier);
}
