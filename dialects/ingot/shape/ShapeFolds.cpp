// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Folding of shape ops: constants are moved at compile time, and consecutive
// ops of a kind are merged.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/ConstantFolding.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

ElementMove BroadcastOp::getMove() {
  RankedTensorType from = tensorType(getOperand());
  SmallVector<int64_t> fromSteps = rowMajorSteps(from.getShape());
  ElementMove move;
  move.steps.assign(tensorType(getResult()).getRank(), 0);
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (from.getDimSize(i) != 1)
      move.steps[dim] = fromSteps[i];
  return move;
}

ElementMove ReshapeOp::getMove() {
  return {0, rowMajorSteps(tensorType(getResult()).getShape())};
}

ElementMove TransposeOp::getMove() {
  SmallVector<int64_t> fromSteps =
      rowMajorSteps(tensorType(getOperand()).getShape());
  ElementMove move;
  for (int64_t dim : getPermutation())
    move.steps.push_back(fromSteps[dim]);
  return move;
}

ElementMove SliceOp::getMove() {
  ElementMove move;
  move.steps = rowMajorSteps(tensorType(getOperand()).getShape());
  for (auto [i, start] : llvm::enumerate(getStarts())) {
    move.base += start * move.steps[i];
    move.steps[i] *= getStrides()[i];
  }
  return move;
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  // `dims` increases strictly, so that the op is the identity if the types are
  // equal.
  if (getOperand().getType() == getResult().getType())
    return getOperand();

  RankedTensorType to = tensorType(getResult());
  if (DenseElementsAttr constant = foldable(adaptor.getOperand());
      constant && isAddressable(to)) {
    RankedTensorType from = tensorType(getOperand());
    if (constant.isSplat() || to.getNumElements() <= kBroadcastFoldLimit ||
        to.getNumElements() == from.getNumElements())
      return foldMove(constant, to, getMove());
  }

  // broadcast(broadcast(x)): the outer one broadcasts x along composed
  // dimensions.
  if (auto inner = getOperand().getDefiningOp<BroadcastOp>()) {
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(getDims()[dim]);
    setDims(dims);
    setOperand(inner.getOperand());
    return getResult();
  }
  return nullptr;
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  RankedTensorType to = tensorType(getResult());
  if (getOperand().getType() == to)
    return getOperand();
  if (DenseElementsAttr constant = foldable(adaptor.getOperand()))
    return constant.reshape(to);
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    setOperand(inner.getOperand());
    return getResult();
  }
  return nullptr;
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> permutation = getPermutation();
  RankedTensorType to = tensorType(getResult());
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, to.getRank())))
    return getOperand();

  if (DenseElementsAttr constant =
          foldMove(adaptor.getOperand(), to, getMove()))
    return constant;

  if (auto inner = getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dim : permutation)
      composed.push_back(inner.getPermutation()[dim]);
    setPermutation(composed);
    setOperand(inner.getOperand());
    return getResult();
  }
  return nullptr;
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  RankedTensorType from = tensorType(getOperand());
  RankedTensorType to = tensorType(getResult());
  // With strides of at least 1, only the whole operand has the same shape.
  if (from == to)
    return getOperand();

  if (DenseElementsAttr constant =
          foldMove(adaptor.getOperand(), to, getMove()))
    return constant;

  // slice(slice(x)): element i is number start' + (start + i * stride) *
  // stride' of x.
  auto inner = getOperand().getDefiningOp<SliceOp>();
  if (!inner || to.getNumElements() == 0)
    return nullptr;
  SmallVector<int64_t> starts, limits, strides;
  for (int64_t i = 0; i < to.getRank(); ++i) {
    int64_t innerStride = inner.getStrides()[i];
    starts.push_back(inner.getStarts()[i] + getStarts()[i] * innerStride);
    strides.push_back(getStrides()[i] * innerStride);
    limits.push_back(starts.back() + (to.getDimSize(i) - 1) * strides.back() +
                     1);
  }
  setStarts(starts);
  setLimits(limits);
  setStrides(strides);
  setOperand(inner.getOperand());
  return getResult();
}

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  RankedTensorType to = tensorType(getResult());
  // Equal shapes: no padding anywhere (interior has no room in a size of 1).
  if (getOperand().getType() == to)
    return getOperand();
  int64_t base = 0;
  SmallVector<int64_t> steps = rowMajorSteps(to.getShape());
  for (auto [i, low] : llvm::enumerate(getLow())) {
    base += low * steps[i];
    steps[i] *= getInterior()[i] + 1;
  }
  return foldPlace(to, getValue().convertToDouble(),
                   Placement{adaptor.getOperand(), base, steps});
}

/// Returns the tensor of which the values are all parts along `dim`, in order;
/// null if there is none.
static Value wholeOfParts(ValueRange parts, int64_t dim) {
  Value whole;
  int64_t end = 0;
  for (Value part : parts) {
    auto slice = part.getDefiningOp<SliceOp>();
    if (!slice || (whole && slice.getOperand() != whole))
      return {};
    whole = slice.getOperand();
    ArrayRef<int64_t> shape = tensorType(whole).getShape();
    for (auto [d, size] : llvm::enumerate(shape)) {
      bool isCut = static_cast<int64_t>(d) == dim;
      if (slice.getStrides()[d] != 1 ||
          slice.getStarts()[d] != (isCut ? end : 0) ||
          (!isCut && slice.getLimits()[d] != size))
        return {};
    }
    end = slice.getLimits()[dim];
  }
  return whole && end == tensorType(whole).getDimSize(dim) ? whole : Value();
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1)
    return getInputs().front();
  if (Value whole = wholeOfParts(getInputs(), getDim()))
    return whole;
  RankedTensorType to = tensorType(getResult());
  SmallVector<int64_t> steps = rowMajorSteps(to.getShape());
  SmallVector<Placement> placements;
  int64_t base = 0;
  for (auto [input, constant] :
       llvm::zip_equal(getInputs(), adaptor.getInputs())) {
    placements.push_back({constant, base, steps});
    base += tensorType(input).getDimSize(getDim()) * steps[getDim()];
  }
  return foldPlace(to, 0, placements);
}

OpFoldResult ReverseOp::fold(FoldAdaptor adaptor) {
  RankedTensorType type = tensorType(getOperand());
  if (llvm::all_of(getDims(),
                   [&](int64_t dim) { return type.getDimSize(dim) <= 1; }))
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReverseOp>())
    if (inner.getDims() == getDims())
      return inner.getOperand();
  int64_t base = 0;
  SmallVector<int64_t> steps = rowMajorSteps(type.getShape());
  for (int64_t dim : getDims()) {
    base += steps[dim] * (type.getDimSize(dim) - 1);
    steps[dim] = -steps[dim];
  }
  return foldMove(adaptor.getOperand(), type, {base, steps});
}

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  // Any row of a splat is the same; an index chosen by a splat is a slice, but
  // only a constant operand folds here.
  DenseElementsAttr indices = foldable(adaptor.getIndices());
  DenseElementsAttr operand = foldable(adaptor.getOperand());
  RankedTensorType from = tensorType(getOperand());
  RankedTensorType to = tensorType(getResult());
  if (operand && operand.isSplat() && to.getNumElements() != 0)
    return operand.resizeSplat(to);
  if (!operand || !indices || to.getNumElements() > kFoldLimit)
    return nullptr;

  // The operand is [outer, size, inner], the result [outer, indices, inner].
  int64_t dim = getDim(), size = from.getDimSize(dim);
  int64_t inner = llvm::product_of(from.getShape().drop_front(dim + 1));
  int64_t outer = llvm::product_of(from.getShape().take_front(dim));
  SmallVector<int64_t> rows;
  for (APInt index : indices.getValues<APInt>())
    rows.push_back(std::clamp<int64_t>(index.getSExtValue(), 0, size - 1));
  SmallVector<int64_t> source;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t row : rows)
      for (int64_t i = 0; i < inner; ++i)
        source.push_back((o * size + row) * inner + i);
  return foldPick(operand, to, source);
}
