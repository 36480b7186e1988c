//===----------------------------------------------------------------------===//
//
// Simplifications around shape ops and reductions.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "dialects/ingot/ir/Builders.h"

using namespace mlir;
using namespace ingot;

/// The dimensions that are not of size 1.
static SmallVector<int64_t> nonUnitDims(RankedTensorType type) {
  SmallVector<int64_t> dims;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (size != 1)
      dims.push_back(i);
  return dims;
}

namespace {

/// Only dimensions of size 1 change places: no element moves.
struct TransposeOfUnits : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<int64_t> moved;
    for (int64_t dim : op.getPermutation())
      if (tensorType(op.getOperand()).getDimSize(dim) != 1)
        moved.push_back(dim);
    if (!llvm::is_sorted(moved))
      return failure();
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), op.getOperand(),
                                     op.getType().getShape()));
    return success();
  }
};

/// Over dimensions of size 1 every element is its own sum, product and
/// extremum.
struct ReduceOverUnits : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (!llvm::all_of(op.getDims(), [&](int64_t dim) {
          return tensorType(op.getOperand()).getDimSize(dim) == 1;
        }))
      return failure();
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), op.getOperand(),
                                     tensorType(op.getResult()).getShape()));
    return success();
  }
};

struct ReduceOfReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<ReduceOp>();
    if (!inner || !inner->hasOneUse() || inner.getKind() != op.getKind())
      return failure();
    SmallVector<int64_t> kept, dims(inner.getDims());
    for (int64_t dim = 0; dim < tensorType(inner.getOperand()).getRank(); ++dim)
      if (!llvm::is_contained(inner.getDims(), dim))
        kept.push_back(dim);
    for (int64_t dim : op.getDims())
      dims.push_back(kept[dim]);
    llvm::sort(dims);
    rewriter.replaceOpWithNewOp<ReduceOp>(
        op, op.getResult().getType(), op.getKind(), inner.getOperand(), dims);
    return success();
  }
};

struct BroadcastOfBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(op.getDims()[dim]);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(),
                                             inner.getOperand(), dims);
    return success();
  }
};

/// A broadcast can place the dimensions that a reshape only moved apart.
struct ReshapeIntoBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!reshape)
      return failure();
    RankedTensorType from = tensorType(reshape.getOperand());
    RankedTensorType to = tensorType(op.getOperand());
    SmallVector<int64_t> toDims = nonUnitDims(to);
    // The operand has no dimension of size 1, so that each of its dimensions
    // has a place.
    if (static_cast<int64_t>(toDims.size()) != from.getRank())
      return failure();
    SmallVector<int64_t> dims;
    for (auto [size, dim] : llvm::zip_equal(from.getShape(), toDims)) {
      if (size != to.getDimSize(dim))
        return failure();
      dims.push_back(op.getDims()[dim]);
    }
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(),
                                             reshape.getOperand(), dims);
    return success();
  }
};

} // namespace

void ingot::populateShapeSimplifications(RewritePatternSet &patterns) {
  patterns.add<TransposeOfUnits, ReduceOverUnits, ReduceOfReduce,
               BroadcastOfBroadcast, ReshapeIntoBroadcast>(
      patterns.getContext());
}
