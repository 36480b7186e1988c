// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/analysis/TileSpace.h"

#include "dialects/ingot/builders/Builders.h"

using namespace mlir;
using namespace ingot;

int64_t TileSpace::getSide(int64_t size) {
  constexpr int64_t longest = 64, shortest = 16;
  for (int64_t side = longest; side >= shortest; side /= 2)
    if (size > 0 && size % side == 0)
      return side;
  return 0;
}

/// Whether the op exchanges the dimensions of a matrix.
static bool exchangesDims(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  return transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0};
}

TileResult TileSpace::classify(Operation *root) {
  if (exchangesDims(root))
    return TileResult::Transposed;
  auto reduction = dyn_cast<Reduction>(root);
  if (!reduction)
    return TileResult::Elements;
  return reduction.getReducedDims().size() == 1 ? TileResult::Columns
                                                : TileResult::Whole;
}

Value TileSpace::getElements(Operation *root) {
  return classify(root) == TileResult::Elements ? root->getResult(0)
                                                : root->getOperand(0);
}

std::optional<TileSpace> TileSpace::of(ArrayRef<Operation *> roots) {
  std::optional<TileSpace> space;
  for (Operation *root : roots)
    if (exchangesDims(root)) {
      ArrayRef<int64_t> shape = tensorType(root->getOperand(0)).getShape();
      space = {{shape[0], shape[1]}, getSide(shape[0]), getSide(shape[1])};
      break;
    }
  if (!space || space->rows == 0 || space->columns == 0)
    return std::nullopt;
  const RowSpace &matrix = space->matrix;
  for (Operation *root : roots) {
    auto reduction = dyn_cast<Reduction>(root);
    if (root->getNumResults() != 1 ||
        (reduction && reduction.getPartialTypes().size() != 1))
      return std::nullopt;
    ArrayRef<int64_t> shape = tensorType(getElements(root)).getShape();
    SmallVector<int64_t> want;
    switch (classify(root)) {
    case TileResult::Elements:
      if (!matrix.split(shape))
        return std::nullopt;
      continue;
    case TileResult::Transposed:
      want = {matrix.rows, matrix.length};
      break;
    case TileResult::Whole:
      want = {matrix.rows / space->rows, space->rows,
              matrix.length / space->columns, space->columns};
      if (cast<Reduction>(root).getReducedDims() != ArrayRef<int64_t>{1, 3})
        return std::nullopt;
      break;
    case TileResult::Columns:
      want = {matrix.rows / space->rows, space->rows, matrix.length};
      if (cast<Reduction>(root).getReducedDims() != ArrayRef<int64_t>{1})
        return std::nullopt;
      break;
    }
    if (shape != ArrayRef(want))
      return std::nullopt;
  }
  return space;
}

/// Whether the op computes elements: it is no result of another form.
static bool isComputed(Operation *op, ArrayRef<Operation *> roots) {
  return !llvm::is_contained(roots, op) ||
         TileSpace::classify(op) == TileResult::Elements;
}

RowReads ingot::readTiles(const TileSpace &space, ArrayRef<Operation *> ops,
                          ArrayRef<Operation *> roots) {
  SmallVector<Value> values =
      llvm::map_to_vector(roots, &TileSpace::getElements);
  SmallVector<Operation *> computed = llvm::filter_to_vector(
      ops, [&](Operation *op) { return isComputed(op, roots); });
  return RowReads(space.matrix, computed, values);
}

Operation *ingot::findTileConflict(const TileSpace &space,
                                   ArrayRef<Operation *> ops,
                                   ArrayRef<Operation *> roots) {
  // What a tile is reduced to, or where its columns are rows, is known only
  // when the tile has been computed.
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && !isComputed(def, roots))
        return op;
  RowReads reads = readTiles(space, ops, roots);
  if (reads.getConflict())
    return reads.getConflict();
  for (Operation *root : roots) {
    Value value = TileSpace::getElements(root);
    if (Operation *def = value.getDefiningOp();
        llvm::is_contained(ops, def) && !reads.isAligned(value))
      return def;
  }
  return nullptr;
}
