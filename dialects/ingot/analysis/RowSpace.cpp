// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/analysis/RowSpace.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "dialects/ingot/encoding/EncodingOps.h"

using namespace mlir;
using namespace ingot;

static bool isLooped(Operation *op) {
  auto body = dyn_cast<ScalarBody>(op);
  return body && body.isLooped();
}

std::optional<RowSpace> RowSpace::of(Reduction reduction) {
  if (auto blocks = dyn_cast<InBlocks>(reduction.getOperation())) {
    int64_t elements = tensorType(blocks.getElements()).getNumElements();
    int64_t block = blocks.getBlockSize();
    return RowSpace{(elements + block - 1) / block, block, elements};
  }
  ArrayRef<int64_t> shape = tensorType(reduction->getOperand(0)).getShape();
  RowSpace space = {1, 1};
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    if (llvm::is_contained(reduction.getReducedDims(), static_cast<int64_t>(d)))
      space.length *= size;
    else if (space.length != 1)
      return std::nullopt;
    else
      space.rows *= size;
  }
  if (space.length <= 1 || space.rows == 0)
    return std::nullopt;
  return space;
}

std::optional<RowSpace> RowSpace::of(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (auto reduction = dyn_cast<Reduction>(op); reduction && isLooped(op))
      if (std::optional<RowSpace> space = of(reduction))
        return space;
  return std::nullopt;
}

RowSpace RowSpace::ofResult(Operation *op) {
  ArrayRef<int64_t> shape = tensorType(op->getResult(0)).getShape();
  return {llvm::product_of(shape.drop_back()), shape.back()};
}

std::optional<size_t> RowSpace::split(ArrayRef<int64_t> shape) const {
  if (inBlocks) {
    if (llvm::product_of(shape) != inBlocks)
      return std::nullopt;
    return 0;
  }
  int64_t trailing = 1, leading = 1;
  size_t k = shape.size();
  while (k > 0 && trailing < length)
    trailing *= shape[--k];
  for (int64_t size : shape.take_front(k))
    leading *= size;
  if (trailing != length || leading != rows)
    return std::nullopt;
  return k;
}

bool RowSpace::hasElementPerRow(Value tensor) const {
  return tensorType(tensor).getNumElements() == rows;
}

bool RowSpace::isOverRows(Operation *op) const {
  auto reduction = dyn_cast<Reduction>(op);
  if (!reduction || !isLooped(op) || rows == length || inBlocks ||
      reduction.getPartialTypes().size() != 1)
    return false;
  int64_t folded = 1, kept = 1;
  for (auto [d, size] :
       llvm::enumerate(tensorType(op->getOperand(0)).getShape())) {
    bool isFolded =
        llvm::is_contained(reduction.getReducedDims(), static_cast<int64_t>(d));
    if (isFolded && size != 1 && kept != 1)
      return false;
    (isFolded ? folded : kept) *= size;
  }
  return folded == rows && kept == length;
}

bool RowReads::readsAligned(Operation *op, OpOperand &operand) const {
  ArrayRef<int64_t> from = tensorType(operand.get()).getShape();
  ArrayRef<int64_t> to = tensorType(op->getResult(0)).getShape();
  if (isLooped(op))
    return true;
  bool perRow = space.hasElementPerRow(op->getResult(0));
  bool readsPerRow = space.hasElementPerRow(operand.get());
  if (!readsPerRow && (perRow || !space.split(from)))
    return false;
  if (op->hasTrait<SameBytes>())
    return perRow == readsPerRow;
  if (space.inBlocks) {
    auto blocks = dyn_cast<InBlocks>(op);
    if (blocks && blocks.isPerBlock(operand.get()))
      return !perRow && blocks.getBlockSize() == space.length;
    return perRow == readsPerRow &&
           cast<ScalarBody>(op).readsPointwise(operand.getOperandNumber());
  }
  auto dims = cast<ScalarBody>(op).getReadDims(operand.getOperandNumber());
  if (!dims)
    return false;
  // Returns all dimensions of the rows (and elements), in order.
  size_t end = readsPerRow && !perRow ? *space.split(to) : to.size();
  size_t next = 0;
  auto skipOnes = [&](size_t &d, ArrayRef<int64_t> shape, size_t limit) {
    while (d < limit && shape[d] == 1)
      ++d;
  };
  for (auto [size, dim] : llvm::zip_equal(from, *dims)) {
    if (size == 1)
      continue;
    skipOnes(next, to, end);
    if (next == end || dim != static_cast<int64_t>(next))
      return false;
    ++next;
  }
  skipOnes(next, to, end);
  return next == end;
}

/// Returns the indices that number the rows, in a tensor with an element or a
/// row for each of them; nothing if its shape does not fit.
static std::optional<SmallVector<Value>>
findRow(const RowSpace &space, Value tensor, ValueRange indices) {
  ArrayRef<int64_t> shape = tensorType(tensor).getShape();
  std::optional<size_t> rank =
      space.hasElementPerRow(tensor) ? shape.size() : space.split(shape);
  if (!rank)
    return std::nullopt;
  SmallVector<Value> row;
  for (size_t d = 0; d < *rank; ++d)
    if (shape[d] != 1)
      row.push_back(indices[d]);
  return row;
}

bool RowReads::readsWithinRow(Operation *op, OpOperand &operand) const {
  Value result = op->getResult(0);
  if (isLooped(op))
    return true;
  if (op->hasTrait<SameBytes>())
    return tensorType(operand.get()).getNumElements() ==
           tensorType(result).getNumElements();
  if (space.inBlocks)
    return readsAligned(op, operand);
  // An element is emitted to see which ones it reads.
  Block block;
  Location loc = op->getLoc();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&block);
  SmallVector<Value> indices;
  for (int64_t d = 0; d < tensorType(result).getRank(); ++d)
    indices.push_back(block.addArgument(builder.getIndexType(), loc));
  auto row = findRow(space, result, indices);
  bool isWithin = row.has_value();
  auto load = [&](unsigned number, ValueRange at) -> Value {
    Value read = op->getOperand(number);
    if (number == operand.getOperandNumber())
      isWithin = isWithin && findRow(space, read, at) == row;
    return block.addArgument(codeType(tensorType(read).getElementType()), loc);
  };
  cast<ScalarBody>(op).emitElements(builder, loc, indices, load);
  return isWithin;
}

RowReads::RowReads(RowSpace space, ArrayRef<Operation *> ops,
                   ArrayRef<Value> results, Operation *given, bool sumsRows)
    : space(space) {
  // A sum over rows is known when all of them have been seen: it is a result,
  // which nothing else reads.
  auto isSum = [&](Operation *op) {
    return sumsRows && op && space.isOverRows(op) &&
           llvm::is_contained(results, op->getResult(0)) &&
           llvm::none_of(op->getUsers(), [&](Operation *user) {
             return llvm::is_contained(ops, user);
           });
  };
  llvm::DenseSet<Operation *> dependent;
  llvm::DenseSet<Value> inKernel(results.begin(), results.end());
  for (Operation *op : ops) {
    bool depends = isLooped(op);
    for (Value operand : op->getOperands())
      depends |= dependent.contains(operand.getDefiningOp());
    if (depends)
      dependent.insert(op);
    auto reduction = dyn_cast<Reduction>(op);
    // Kernels over rows have one sum for each reduction.
    bool folds = reduction && RowSpace::of(reduction) == space &&
                 reduction.getPartialTypes().size() == 1;
    if (isLooped(op) && !folds && op != given && !isSum(op))
      conflict = op;
  }
  for (Value result : results) {
    if (!space.hasElementPerRow(result) &&
        !space.split(tensorType(result).getShape()) &&
        !isSum(result.getDefiningOp()))
      conflict = result.getDefiningOp();
    aligned.insert(result);
  }
  for (Operation *op : llvm::reverse(ops)) {
    bool isAt = true;
    for (Value result : op->getResults())
      isAt &= isAligned(result) ||
              (!aligned.contains(result) && !elsewhere.contains(result));
    if (!isAt && dependent.contains(op) && !conflict)
      conflict = op;
    if (conflict)
      return;
    for (OpOperand &operand : op->getOpOperands())
      (isAt && op != given && readsAligned(op, operand) ? aligned : elsewhere)
          .insert(operand.get());
  }
}
