// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Simplifications of contractions and convolutions: adjacent ops become their
// attributes, which a library handles at no cost.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/convolution/WindowLayout.h"

using namespace mlir;
using namespace ingot;

/// Returns whether the permutation only exchanges the last two dimensions.
static bool swapsLastTwo(ArrayRef<int64_t> permutation) {
  int64_t rank = permutation.size();
  if (rank < 2 || permutation[rank - 1] != rank - 2 ||
      permutation[rank - 2] != rank - 1)
    return false;
  for (int64_t i = 0; i < rank - 2; ++i)
    if (permutation[i] != i)
      return false;
  return true;
}

/// Returns the operand of a transpose of matrices; null if the value is not
/// one.
static Value untransposed(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose || !swapsLastTwo(transpose.getPermutation()))
    return {};
  return transpose.getOperand();
}

namespace {

struct TransposeIntoMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Value lhs = untransposed(op.getLhs()), rhs = untransposed(op.getRhs());
    if (!lhs && !rhs)
      return failure();
    rewriter.replaceOpWithNewOp<MatmulOp>(
        op, op.getType(), lhs ? lhs : op.getLhs(), rhs ? rhs : op.getRhs(),
        op.getTransposeLhs() != static_cast<bool>(lhs),
        op.getTransposeRhs() != static_cast<bool>(rhs));
    return success();
  }
};

/// (A B)^T = B^T A^T
struct TransposeOfMatmul : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto matmul = op.getOperand().getDefiningOp<MatmulOp>();
    if (!matmul || !matmul->hasOneUse() || !swapsLastTwo(op.getPermutation()))
      return failure();
    rewriter.replaceOpWithNewOp<MatmulOp>(
        op, op.getType(), matmul.getRhs(), matmul.getLhs(),
        !matmul.getTransposeRhs(), !matmul.getTransposeLhs());
    return success();
  }
};

/// Returns the matrix that the value broadcasts over the batch; null if it is
/// not such a broadcast.
static Value repeatedMatrix(PatternRewriter &rewriter, Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  RankedTensorType from = tensorType(broadcast.getOperand());
  RankedTensorType to = tensorType(value);
  int64_t rank = to.getRank(), fromRank = from.getRank();
  if (fromRank < 2 || broadcast.getDims()[fromRank - 1] != rank - 1 ||
      broadcast.getDims()[fromRank - 2] != rank - 2 ||
      from.getShape().take_back(2) != to.getShape().take_back(2) ||
      llvm::any_of(
          from.getShape().drop_back(2), [](int64_t size) { return size != 1; }))
    return {};
  return reshapeTo(rewriter, value.getLoc(), broadcast.getOperand(),
                   from.getShape().take_back(2));
}

/// Returns `value` with all dimensions except the last merged into one.
static Value asMatrix(PatternRewriter &rewriter, Value value) {
  RankedTensorType type = tensorType(value);
  int64_t columns = type.getShape().back();
  int64_t rows = 1;
  for (int64_t size : type.getShape().drop_back())
    rows *= size;
  return reshapeTo(rewriter, value.getLoc(), value, {rows, columns});
}

/// A batched matmul with one matrix is a single matmul with more rows.
struct MatmulWithOneMatrix : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getRank() < 3 || op.getTransposeLhs())
      return failure();
    Value rhs = repeatedMatrix(rewriter, op.getRhs());
    if (!rhs)
      return failure();
    Value lhs = asMatrix(rewriter, op.getLhs());
    auto type = RankedTensorType::get(
        {tensorType(lhs).getDimSize(0), op.getType().getShape().back()},
        op.getType().getElementType());
    Value matmul =
        MatmulOp::create(rewriter, op.getLoc(), type, lhs, rhs,
                         /*transpose_lhs=*/false, op.getTransposeRhs());
    rewriter.replaceOp(
        op, reshapeTo(rewriter, op.getLoc(), matmul, op.getType().getShape()));
    return success();
  }
};

/// The gradient of that matrix: a sum over a batch of matmuls is a single
/// matmul with a longer inner dimension.
struct SumOfMatmuls : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto matmul = op.getOperand().getDefiningOp<MatmulOp>();
    if (op.getKind() != ReductionKind::Sum || !matmul || !matmul->hasOneUse() ||
        !matmul.getTransposeLhs() || matmul.getTransposeRhs())
      return failure();
    int64_t batchRank = matmul.getType().getRank() - 2;
    if (batchRank == 0 ||
        op.getDims() != ArrayRef(llvm::to_vector(llvm::seq(batchRank))))
      return failure();
    rewriter.replaceOpWithNewOp<MatmulOp>(
        op, op.getType(), asMatrix(rewriter, matmul.getLhs()),
        asMatrix(rewriter, matmul.getRhs()), /*transpose_lhs=*/true,
        /*transpose_rhs=*/false);
    return success();
  }
};

/// Zero padding of an input's spatial dimensions becomes the padding of a
/// window.
struct ZeroPadding {
  Value input;
  SmallVector<int64_t> low, high;

  /// Returns the padding of the value, added to that of the window.
  static std::optional<ZeroPadding> of(Value value, WindowLayout layout,
                                       ArrayRef<int64_t> low,
                                       ArrayRef<int64_t> high) {
    auto pad = value.getDefiningOp<PadOp>();
    auto isZero = [](int64_t size) { return size == 0; };
    if (!pad || !pad.getValue().isZero() ||
        !llvm::all_of(pad.getInterior(), isZero))
      return std::nullopt;
    int64_t channel = layout.channelDim(pad.getLow().size());
    if (!isZero(pad.getLow()[0]) || !isZero(pad.getHigh()[0]) ||
        !isZero(pad.getLow()[channel]) || !isZero(pad.getHigh()[channel]))
      return std::nullopt;
    ZeroPadding padding{pad.getOperand(), SmallVector<int64_t>(low),
                        SmallVector<int64_t>(high)};
    for (auto [i, size] : llvm::enumerate(layout.spatial(pad.getLow())))
      padding.low[i] += size;
    for (auto [i, size] : llvm::enumerate(layout.spatial(pad.getHigh())))
      padding.high[i] += size;
    return padding;
  }
};

/// Sums of products of small matrices are one product of the matrices one after
/// another: A1 B1 + A2 B2 = [A1 A2] [B1; B2]. These are the gradients of a
/// weight that each step of a recurrent net uses. The concatenations must take
/// less memory than the sums.
struct SumOfProducts : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    // The whole sum is rewritten at its last addition.
    if (op->hasOneUse() && isa<AddOp>(*op->user_begin()))
      return failure();
    SmallVector<MatmulOp> products;
    SmallVector<Value> others;
    collect(op, products, others);
    if (products.size() < kFewest)
      return failure();
    SmallVector<Value> lhs, rhs;
    for (MatmulOp product : products) {
      lhs.push_back(product.getLhs());
      rhs.push_back(product.getRhs());
    }
    MatmulOp first = products.front();
    Value sum = MatmulOp::create(
        rewriter, first.getLoc(), op.getType(),
        concat(rewriter, first.getLoc(), lhs, first.getTransposeLhs() ? 0 : 1),
        concat(rewriter, first.getLoc(), rhs, first.getTransposeRhs() ? 1 : 0),
        first.getTransposeLhsAttr(), first.getTransposeRhsAttr());
    for (Value other : others)
      sum = AddOp::create(rewriter, op.getLoc(), op.getType(), sum, other);
    rewriter.replaceOp(op, sum);
    return success();
  }

private:
  static constexpr size_t kFewest = 4;

  /// Divides the terms of a sum into products that can be merged and others.
  static void collect(AddOp op, SmallVectorImpl<MatmulOp> &products,
                      SmallVectorImpl<Value> &others) {
    SmallVector<Value> work = {op.getRhs(), op.getLhs()};
    while (!work.empty()) {
      Value term = work.pop_back_val();
      auto sum = term.getDefiningOp<AddOp>();
      auto product = term.getDefiningOp<MatmulOp>();
      if (sum && term.hasOneUse())
        work.append({sum.getRhs(), sum.getLhs()});
      else if (product && isSmall(product) &&
               (products.empty() || fits(products.front(), product)))
        products.push_back(product);
      else
        others.push_back(term);
    }
  }

  static bool isSmall(MatmulOp product) {
    RankedTensorType type = tensorType(product.getResult());
    RankedTensorType lhs = tensorType(product.getLhs());
    RankedTensorType rhs = tensorType(product.getRhs());
    return product->hasOneUse() && type.getRank() == 2 &&
           lhs.getElementType() == type.getElementType() &&
           lhs.getNumElements() + rhs.getNumElements() <= type.getNumElements();
  }

  static bool fits(MatmulOp first, MatmulOp product) {
    return product.getTransposeLhs() == first.getTransposeLhs() &&
           product.getTransposeRhs() == first.getTransposeRhs() &&
           product.getType() == first.getType();
  }

  static Value concat(OpBuilder &builder, Location loc, ArrayRef<Value> parts,
                      int64_t dim) {
    RankedTensorType first = tensorType(parts.front());
    SmallVector<int64_t> shape(first.getShape());
    shape[dim] = 0;
    for (Value part : parts)
      shape[dim] += tensorType(part).getDimSize(dim);
    return ConcatOp::create(
        builder, loc, RankedTensorType::get(shape, first.getElementType()),
        parts, dim);
  }
};

template <typename Op> struct PadIntoWindow : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    std::optional<ZeroPadding> padding = ZeroPadding::of(
        op.getInput(), {op.getChannelsLast()}, op.getPadLow(), op.getPadHigh());
    if (!padding)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().set(padding->input);
      op.setPadLow(padding->low);
      op.setPadHigh(padding->high);
    });
    return success();
  }
};

} // namespace

void ingot::populateContractionSimplifications(RewritePatternSet &patterns) {
  patterns.add<TransposeIntoMatmul, TransposeOfMatmul, MatmulWithOneMatrix,
               SumOfMatmuls, SumOfProducts, PadIntoWindow<ConvOp>,
               PadIntoWindow<ConvFilterGradOp>, PadIntoWindow<SumPoolOp>>(
      patterns.getContext());
}
