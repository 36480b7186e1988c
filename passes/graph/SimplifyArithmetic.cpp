// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Simplifications of arithmetic. They preserve every bit, except in sums of
// gradients, whose order changes.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

namespace {
/// x / c = x * (1 / c) where c is a power of two, as in means over 2^n
/// elements; a division costs several multiplications.
struct DivByPowerOfTwo : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    DenseElementsAttr divisor;
    if (!matchPattern(op.getRhs(), m_Constant(&divisor)) ||
        !divisor.isSplat() || !isa<FloatType>(divisor.getElementType()))
      return failure();
    APFloat inverse(0.0);
    if (!divisor.getSplatValue<APFloat>().getExactInverse(&inverse))
      return failure();
    Value factor = ConstantOp::create(
        rewriter, op.getRhs().getLoc(), op.getRhs().getType(),
        DenseElementsAttr::get(divisor.getType(), inverse));
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), factor);
    return success();
  }
};

/// x + scatter_add(updates) = scatter_add(updates) into x: no tensor of zeros
/// is needed in addition to x, and only rows that receive updates are accessed.
/// Embeddings that are also a projection, or that are looked up several times,
/// have such gradients.
struct AddOfScatter : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    // A 16-bit result is rounded where it is stored.
    if (tensorType(op.getResult()).getElementTypeBitWidth() < 32)
      return failure();
    Value into = op.getLhs();
    auto scatter = op.getRhs().getDefiningOp<ScatterAddOp>();
    if (!isZeroBased(scatter)) {
      into = op.getRhs();
      scatter = op.getLhs().getDefiningOp<ScatterAddOp>();
    }
    if (!isZeroBased(scatter))
      return failure();
    remark::passed(scatter.getLoc(),
                   remarkOptions("simplify", "ScatterAccumulation"))
        << remark::metric("bytes_saved",
                          byteSize(tensorType(scatter.getResult())));
    rewriter.replaceOpWithNewOp<ScatterAddOp>(
        op, op.getType(), scatter.getIndices(), scatter.getUpdates(), into,
        scatter.getDim());
    return success();
  }

private:
  /// Returns whether the op adds to zeros and has no other readers.
  static bool isZeroBased(ScatterAddOp scatter) {
    return scatter && !scatter.getInit() && scatter->hasOneUse();
  }
};
} // namespace

void ingot::populateArithmeticSimplifications(RewritePatternSet &patterns) {
  patterns.add<AddOfScatter, DivByPowerOfTwo>(patterns.getContext());
}
