//===----------------------------------------------------------------------===//
//
// Simplifications of arithmetic that leave every bit as it is.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

namespace {
/// x / c = x * (1 / c) where c is a power of two: means over such many
/// elements, and a division costs several multiplications.
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
} // namespace

void ingot::populateArithmeticSimplifications(RewritePatternSet &patterns) {
  patterns.add<DivByPowerOfTwo>(patterns.getContext());
}
