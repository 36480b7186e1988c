// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Gradients of shape ops: elements are moved back, and those that were repeated
// are summed.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace ingot;

using Cotangents = ArrayRef<Value>;
using Needed = const llvm::BitVector &;
using Gradients = MutableArrayRef<Value>;

LogicalResult BroadcastOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                    Gradients out) {
  RankedTensorType from = tensorType(getOperand()),
                   to = tensorType(getResult());
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim < to.getRank(); ++dim) {
    const int64_t *at = llvm::find(getDims(), dim);
    bool kept = at != getDims().end() &&
                from.getDimSize(at - getDims().begin()) == to.getDimSize(dim);
    if (!kept)
      repeated.push_back(dim);
  }
  Arithmetic a(builder, getLoc());
  out[0] = a.reshape(a.sum(g[0], repeated), from.getShape());
  return success();
}

LogicalResult ReshapeOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                  Gradients out) {
  out[0] =
      reshapeTo(builder, getLoc(), g[0], tensorType(getOperand()).getShape());
  return success();
}

LogicalResult TransposeOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                    Gradients out) {
  out[0] = TransposeOp::create(builder, getLoc(), getOperand().getType(), g[0],
                               invertPermutationVector(getPermutation()));
  return success();
}

LogicalResult SliceOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                Gradients out) {
  RankedTensorType from = tensorType(getOperand()),
                   to = tensorType(getResult());
  // No element was selected: every derivative is zero.
  if (to.getNumElements() == 0)
    return success();
  SmallVector<int64_t> high, interior;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t last =
        getStarts()[dim] + (to.getDimSize(dim) - 1) * getStrides()[dim];
    high.push_back(from.getDimSize(dim) - last - 1);
    interior.push_back(getStrides()[dim] - 1);
  }
  out[0] = PadOp::create(builder, getLoc(), from, g[0], getStarts(), high,
                         interior, /*value=*/APFloat(0.0));
  return success();
}

LogicalResult PadOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                              Gradients out) {
  RankedTensorType from = tensorType(getOperand());
  if (from.getNumElements() == 0)
    return success();
  SmallVector<int64_t> limits, strides;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    strides.push_back(getInterior()[dim] + 1);
    limits.push_back(getLow()[dim] +
                     (from.getDimSize(dim) - 1) * strides.back() + 1);
  }
  out[0] =
      SliceOp::create(builder, getLoc(), from, g[0], getLow(), limits, strides);
  return success();
}

LogicalResult ConcatOp::buildVjp(OpBuilder &builder, Cotangents g,
                                 Needed needed, Gradients out) {
  RankedTensorType whole = tensorType(getResult());
  SmallVector<int64_t> starts(whole.getRank(), 0), strides(whole.getRank(), 1);
  SmallVector<int64_t> limits(whole.getShape());
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    RankedTensorType part = tensorType(input);
    limits[getDim()] = starts[getDim()] + part.getDimSize(getDim());
    if (needed[i])
      out[i] = SliceOp::create(builder, getLoc(), part, g[0], starts, limits,
                               strides);
    starts[getDim()] = limits[getDim()];
  }
  return success();
}

LogicalResult ReverseOp::buildVjp(OpBuilder &builder, Cotangents g, Needed,
                                  Gradients out) {
  out[0] =
      ReverseOp::create(builder, getLoc(), g[0].getType(), g[0], getDims());
  return success();
}

LogicalResult GatherOp::buildVjp(OpBuilder &builder, Cotangents g,
                                 Needed needed, Gradients out) {
  if (needed[0])
    out[0] =
        ScatterAddOp::create(builder, getLoc(), getOperand().getType(),
                             getIndices(), g[0], /*init=*/Value(), getDim());
  return success();
}

LogicalResult ScatterAddOp::buildVjp(OpBuilder &builder, Cotangents g,
                                     Needed needed, Gradients out) {
  if (needed[1])
    out[1] = GatherOp::create(builder, getLoc(), getUpdates().getType(), g[0],
                              getIndices(), getDim());
  if (getInit() && needed[2])
    out[2] = g[0];
  return success();
}

/// Adds the flattened cotangents to the flattened operand at their row-major
/// positions.
LogicalResult TakeAlongOp::buildVjp(OpBuilder &builder, Cotangents g,
                                    Needed needed, Gradients out) {
  if (!needed[0])
    return success();
  Arithmetic a(builder, getLoc());
  RankedTensorType from = tensorType(getOperand()),
                   to = tensorType(getResult());
  RankedTensorType indexType = withElement(to, builder.getI64Type());
  if (from.getNumElements() == 0 || to.getNumElements() == 0)
    return success();
  Value positions;
  SmallVector<int64_t> strides = computeStrides(from.getShape());
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    Value coordinate;
    if (dim == static_cast<int64_t>(getDim()))
      // The index is clamped here, because a position in the flattened operand
      // cannot be.
      coordinate = a.min(a.max(a.cast(getIndices(), builder.getI64Type()), 0.0),
                         from.getDimSize(dim) - 1);
    else
      coordinate = a.iota(indexType, dim);
    positions = addOrNull(builder, getLoc(), positions,
                          a.mul(coordinate, strides[dim]));
  }
  Value sums = ScatterAddOp::create(
      builder, getLoc(),
      RankedTensorType::get({from.getNumElements()}, from.getElementType()),
      a.reshape(positions, {to.getNumElements()}),
      a.reshape(g[0], {to.getNumElements()}), /*init=*/Value(), /*dim=*/0);
  out[0] = a.reshape(sums, from.getShape());
  return success();
}
