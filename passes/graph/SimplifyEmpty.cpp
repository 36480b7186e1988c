// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Simplifications of tensors without elements. They are constants, and so is
// what is computed from nothing: later passes, kernels and library calls need
// not handle sizes of 0.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ingot;

static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
}

static bool hasEmptyOperand(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isEmpty);
}

/// A constant whose elements, if there are any, are `value`.
static Value makeFilled(PatternRewriter &rewriter, Location loc,
                        RankedTensorType type, const APFloat &value) {
  DenseElementsAttr elements;
  if (type.getNumElements() == 0) {
    elements = DenseElementsAttr::get(type, ArrayRef<Attribute>());
  } else if (auto element = dyn_cast<FloatType>(type.getElementType())) {
    APFloat converted = value;
    bool losesInfo = false;
    converted.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &losesInfo);
    elements = DenseElementsAttr::get(type, converted);
  } else {
    unsigned width = type.getElementType().getIntOrFloatBitWidth();
    APSInt converted(width, type.getElementType().isUnsignedInteger());
    bool isExact = false;
    // Infinities become the extreme integers.
    value.convertToInteger(converted, APFloat::rmTowardZero, &isExact);
    elements = DenseElementsAttr::get(type, static_cast<APInt>(converted));
  }
  return ConstantOp::create(rewriter, loc, type, elements);
}

namespace {
/// A result without elements is a constant.
struct EmptyResult : RewritePattern {
  explicit EmptyResult(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (op->hasTrait<OpTrait::ConstantLike>() || op->getNumRegions() != 0 ||
        !isMemoryEffectFree(op))
      return failure();
    bool changed = false;
    for (Value result : op->getResults())
      if (isEmpty(result.getType()) && !result.use_empty()) {
        rewriter.replaceAllUsesWith(
            result,
            makeFilled(rewriter, op->getLoc(),
                       cast<RankedTensorType>(result.getType()), APFloat(0.0)));
        changed = true;
      }
    return success(changed);
  }
};

/// Sums of no products are 0: for ops that sum products of all operands.
template <typename Op> struct ZeroOfEmpty : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!hasEmptyOperand(op))
      return failure();
    rewriter.replaceOp(op,
                       makeFilled(rewriter, op.getLoc(),
                                  tensorType(op.getResult()), APFloat(0.0)));
    return success();
  }
};

/// A reduction of nothing is the value that changes nothing.
struct ReductionOfEmpty : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (!hasEmptyOperand(op))
      return failure();
    rewriter.replaceOp(op, makeFilled(rewriter, op.getLoc(),
                                      tensorType(op.getResult()),
                                      getNeutral(op.getKind())));
    return success();
  }

private:
  static APFloat getNeutral(ReductionKind kind) {
    switch (kind) {
    case ReductionKind::Sum:
      return APFloat(0.0);
    case ReductionKind::Prod:
      return APFloat(1.0);
    case ReductionKind::Max:
      return APFloat::getInf(APFloat::IEEEdouble(), /*Negative=*/true);
    case ReductionKind::Min:
      return APFloat::getInf(APFloat::IEEEdouble());
    }
    llvm_unreachable("every kind returns");
  }
};

/// Operands without elements add nothing to a concatenation.
struct ConcatOfEmpty : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs = llvm::filter_to_vector(
        op.getInputs(), [](Value input) { return !isEmpty(input.getType()); });
    if (inputs.empty() || inputs.size() == op.getInputs().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(inputs); });
    return success();
  }
};

/// The padding of nothing is all there is.
struct PadOfEmpty : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    if (!hasEmptyOperand(op))
      return failure();
    APFloat value(op.getValue().convertToDouble());
    rewriter.replaceOp(op, makeFilled(rewriter, op.getLoc(),
                                      tensorType(op.getResult()), value));
    return success();
  }
};

/// Without updates, the result is what they are added to.
struct ScatterOfEmpty : OpRewritePattern<ScatterAddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterAddOp op,
                                PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getUpdates().getType()))
      return failure();
    Value base = op.getInit();
    if (!base)
      base = makeFilled(rewriter, op.getLoc(), tensorType(op.getResult()),
                        APFloat(0.0));
    rewriter.replaceOp(op, base);
    return success();
  }
};

/// Without keys, all queries get what fully masked ones get: 0, and infinity as
/// the log-sum-exp.
struct AttentionWithoutKeys : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getKey().getType()) || !isEmpty(op.getValue().getType()))
      return failure();
    Value zero = makeFilled(rewriter, op.getLoc(), tensorType(op.getResult()),
                            APFloat(0.0));
    Value infinite = makeFilled(rewriter, op.getLoc(), tensorType(op.getLse()),
                                APFloat::getInf(APFloat::IEEEdouble()));
    rewriter.replaceOp(op, {zero, infinite});
    return success();
  }
};

/// Its gradient: no query depends on keys, or there is no query.
struct AttentionGradOfEmpty : OpRewritePattern<AttentionGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionGradOp op,
                                PatternRewriter &rewriter) const override {
    auto areEmpty = [](Value a, Value b) {
      return isEmpty(a.getType()) && isEmpty(b.getType());
    };
    if (!areEmpty(op.getKey(), op.getValue()) &&
        !areEmpty(op.getQuery(), op.getCotangent()))
      return failure();
    SmallVector<Value> zeros;
    for (Type type : op->getResultTypes())
      zeros.push_back(makeFilled(rewriter, op.getLoc(),
                                 cast<RankedTensorType>(type), APFloat(0.0)));
    rewriter.replaceOp(op, zeros);
    return success();
  }
};
} // namespace

void ingot::populateEmptySimplifications(RewritePatternSet &patterns) {
  patterns.add<EmptyResult, ZeroOfEmpty<MatmulOp>, ZeroOfEmpty<ConvOp>,
               ZeroOfEmpty<ConvInputGradOp>, ZeroOfEmpty<ConvFilterGradOp>,
               ZeroOfEmpty<MaxPoolGradOp>, ZeroOfEmpty<SumPoolGradOp>,
               ReductionOfEmpty, ConcatOfEmpty, PadOfEmpty, ScatterOfEmpty,
               AttentionWithoutKeys, AttentionGradOfEmpty>(
      patterns.getContext());
}
