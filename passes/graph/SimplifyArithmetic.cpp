// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Simplifications of arithmetic. They preserve every bit, except in sums of
// gradients, whose order changes, and in probabilities of cross-entropy.
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

/// exp(x - (m + log(s))) = exp(x - m) * (1 / s) where exp(x - m) is computed as
/// well: the probabilities in cross-entropy's gradient, where s is the sum of
/// the exponentials. A kernel that computes both takes one exponential of each
/// element instead of two.
struct ExpOfLogSum : OpRewritePattern<ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ExpOp op,
                                PatternRewriter &rewriter) const override {
    auto [x, shift] = splitShift(op);
    auto spread = shift ? shift.getOperand().getDefiningOp<AddOp>() : AddOp();
    if (!spread)
      return failure();
    Value largest = spread.getLhs();
    auto log = spread.getRhs().getDefiningOp<LogOp>();
    if (!log) {
      largest = spread.getRhs();
      log = spread.getLhs().getDefiningOp<LogOp>();
    }
    if (!log || tensorType(op.getResult()).getElementTypeBitWidth() < 32)
      return failure();
    ExpOp other = findExp(op, x, shift, largest);
    if (!other)
      return failure();
    Location loc = op.getLoc();
    Value sum = log.getOperand();
    RankedTensorType type = tensorType(sum);
    Value one = ConstantOp::create(
        rewriter, loc, type,
        DenseElementsAttr::get(
            type, rewriter.getFloatAttr(type.getElementType(), 1.0)));
    Value inverse = DivOp::create(rewriter, loc, type, one, sum);
    Value factor = BroadcastOp::create(rewriter, loc, shift.getType(), inverse,
                                       shift.getDims());
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), other, factor);
    return success();
  }

private:
  /// Returns x and the broadcast b of exp(x - b).
  static std::pair<Value, BroadcastOp> splitShift(ExpOp op) {
    auto sub = op.getOperand().getDefiningOp<SubOp>();
    if (!sub)
      return {};
    return {sub.getLhs(), sub.getRhs().getDefiningOp<BroadcastOp>()};
  }

  /// Returns whether two values are the same, or are computed alike.
  static bool areSame(Value a, Value b) {
    Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
    return a == b || (left && right &&
                      OperationEquivalence::isEquivalentTo(
                          left, right, OperationEquivalence::IgnoreLocations));
  }

  /// Returns an op before `op` that computes exp(x - m), with m spread as
  /// `shift` is.
  static ExpOp findExp(ExpOp op, Value x, BroadcastOp shift, Value m) {
    for (Operation *user : m.getUsers()) {
      auto spread = dyn_cast<BroadcastOp>(user);
      if (!spread || spread.getType() != shift.getType() ||
          spread.getDims() != shift.getDims())
        continue;
      for (Operation *difference : spread->getUsers())
        for (Operation *reader : difference->getUsers()) {
          auto exp = dyn_cast<ExpOp>(reader);
          if (!exp || exp->getBlock() != op->getBlock() ||
              !exp->isBeforeInBlock(op))
            continue;
          auto [from, by] = splitShift(exp);
          if (by == spread && areSame(from, x))
            return exp;
        }
    }
    return {};
  }
};
} // namespace

void ingot::populateArithmeticSimplifications(RewritePatternSet &patterns) {
  patterns.add<AddOfScatter, DivByPowerOfTwo, ExpOfLogSum>(
      patterns.getContext());
}
