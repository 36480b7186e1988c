// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Simplifications of shape ops and reductions.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

/// Returns the dimensions that are not of size 1.
static SmallVector<int64_t> nonUnitDims(RankedTensorType type) {
  SmallVector<int64_t> dims;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (size != 1)
      dims.push_back(i);
  return dims;
}

namespace {

/// Only dimensions of size 1 are moved: no element moves.
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

/// Over dimensions of size 1, every element is its own sum, product and
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

/// A broadcast can map the dimensions that a reshape only separated.
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
    // has a counterpart.
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

/// reshape(transpose(reshape(x))), where the reshapes only merge and split the
/// batch of matrices, is the transpose of x's matrices.
struct TransposeBetweenReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getOperand().getDefiningOp<TransposeOp>();
    auto inner = transpose ? transpose.getOperand().getDefiningOp<ReshapeOp>()
                           : ReshapeOp();
    if (!inner || !transpose->hasOneUse())
      return failure();
    ArrayRef<int64_t> from = tensorType(inner.getOperand()).getShape();
    ArrayRef<int64_t> to = op.getType().getShape();
    ArrayRef<int64_t> merged = inner.getType().getShape();
    size_t rank = from.size(), mergedRank = merged.size();
    if (rank < 2 || mergedRank < 2 || to.size() != rank ||
        from.drop_back(2) != to.drop_back(2) ||
        from.take_back(2) != merged.take_back(2) ||
        to[rank - 1] != from[rank - 2] || to[rank - 2] != from[rank - 1])
      return failure();
    auto swap = [](size_t size) {
      auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, size));
      std::swap(permutation[size - 1], permutation[size - 2]);
      return permutation;
    };
    if (transpose.getPermutation() != ArrayRef<int64_t>(swap(mergedRank)))
      return failure();
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(),
                                             inner.getOperand(), swap(rank));
    return success();
  }
};

/// A sum of two adjacent parts, each padded with zeros, is the gradient of two
/// slices.
struct SumOfPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    auto first = partInZeros(op.getLhs()), second = partInZeros(op.getRhs());
    if (!first || !second)
      return failure();
    std::optional<int64_t> dim;
    for (int64_t i = 0, rank = first.getLow().size(); i < rank; ++i) {
      if (first.getLow()[i] == second.getLow()[i] &&
          first.getHigh()[i] == second.getHigh()[i])
        continue;
      if (dim)
        return failure();
      dim = i;
    }
    if (!dim)
      return failure();
    if (first.getLow()[*dim] > second.getLow()[*dim])
      std::swap(first, second);
    auto partType = cast<RankedTensorType>(first.getOperand().getType());
    int64_t middle = first.getLow()[*dim] + partType.getDimSize(*dim);
    if (middle != second.getLow()[*dim])
      return failure();

    SmallVector<int64_t> shape(partType.getShape());
    shape[*dim] += tensorType(second.getOperand()).getDimSize(*dim);
    Value both = ConcatOp::create(
        rewriter, op.getLoc(),
        RankedTensorType::get(shape, partType.getElementType()),
        ValueRange{first.getOperand(), second.getOperand()}, *dim);
    SmallVector<int64_t> high(first.getHigh());
    high[*dim] = second.getHigh()[*dim];
    if (shape == op.getType().getShape())
      rewriter.replaceOp(op, both);
    else
      rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), both, first.getLow(),
                                         high, first.getInterior(),
                                         first.getValue());
    return success();
  }

private:
  static PadOp partInZeros(Value value) {
    auto pad = value.getDefiningOp<PadOp>();
    bool matches =
        pad && pad->hasOneUse() && pad.getValue().isZero() &&
        isa<FloatType>(tensorType(value).getElementType()) &&
        llvm::all_of(pad.getInterior(), [](int64_t size) { return size == 0; });
    return matches ? pad : PadOp();
  }
};

/// A concatenation within another along the same dimension.
struct ConcatOfConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<ConcatOp>();
      if (inner && inner->hasOneUse() && inner.getDim() == op.getDim())
        llvm::append_range(inputs, inner.getInputs());
      else
        inputs.push_back(input);
    }
    if (inputs.size() == op.getInputs().size())
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs,
                                          op.getDim());
    return success();
  }
};

/// Rows of a split fp32 number: the halves are gathered and then joined, so
/// that no kernel joins a whole table for several readers of few rows.
struct GatherOfHalves : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto join = op.getOperand().getDefiningOp<JoinHalvesOp>();
    if (!join)
      return failure();
    auto gathered = [&](Value half) -> Value {
      return GatherOp::create(rewriter, op.getLoc(),
                              withElement(tensorType(op.getResult()),
                                          tensorType(half).getElementType()),
                              half, op.getIndices(), op.getDim());
    };
    Value upper = gathered(join.getUpper()), lower = gathered(join.getLower());
    rewriter.replaceOpWithNewOp<JoinHalvesOp>(op, op.getResult().getType(),
                                              upper, lower);
    return success();
  }
};

/// A gather whose indices are constants that count up by one, as positions do,
/// is a slice, or a slice that is repeated for leading dimensions of the
/// indices. The gradient is then a sum instead of scattered rows.
struct GatherOfRun : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    DenseElementsAttr indices;
    if (!matchPattern(op.getIndices(), m_Constant(&indices)) || indices.empty())
      return failure();
    RankedTensorType from = tensorType(op.getOperand());
    ArrayRef<int64_t> shape = tensorType(op.getIndices()).getShape();
    ArrayRef<int64_t> to = tensorType(op.getResult()).getShape();
    int64_t dim = op.getDim(), rows = from.getDimSize(dim);
    auto clamp = [&](const APInt &index) {
      return std::clamp<int64_t>(index.getSExtValue(), 0, rows - 1);
    };
    auto values = indices.value_begin<APInt>();
    int64_t count = indices.getNumElements(), first = clamp(*values);
    int64_t run = 1;
    for (auto value = std::next(values); run < count; ++run, ++value)
      if (clamp(*value) != first + run)
        break;
    for (auto [i, value] : llvm::enumerate(indices.getValues<APInt>()))
      if (clamp(value) != first + static_cast<int64_t>(i) % run)
        return failure();
    // The leading dimensions repeat, and the others count.
    size_t split = shape.size();
    int64_t counted = 1;
    while (split > 0 && counted < run)
      counted *= shape[--split];
    if (counted != run)
      return failure();

    SmallVector<int64_t> starts(from.getRank(), 0), limits(from.getShape());
    SmallVector<int64_t> strides(from.getRank(), 1);
    starts[dim] = first;
    limits[dim] = first + run;
    SmallVector<int64_t> part(from.getShape());
    part[dim] = run;
    Location loc = op.getLoc();
    Value slice = op.getOperand();
    if (run != rows)
      slice = SliceOp::create(
          rewriter, loc, RankedTensorType::get(part, from.getElementType()),
          slice, starts, limits, strides);
    // [before, counted dimensions, after], then the repeated dimensions.
    SmallVector<int64_t> kept(to.take_front(dim)), dims;
    llvm::append_range(kept, to.drop_front(dim + split));
    for (int64_t i = 0, rank = to.size(); i < rank; ++i)
      if (i < dim || i >= dim + static_cast<int64_t>(split))
        dims.push_back(i);
    Value rowsInShape = reshapeTo(rewriter, loc, slice, kept);
    rewriter.replaceOp(op, broadcastTo(rewriter, loc, rowsInShape, to, dims));
    return success();
  }
};

/// A cast to fewer bits is moved before ops that only move elements: fewer
/// bytes are moved, and 16-bit compute copies of weights are read in place.
template <typename Op> struct NarrowBefore : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp cast,
                                PatternRewriter &rewriter) const override {
    auto op = cast.getOperand().template getDefiningOp<Op>();
    auto from =
        dyn_cast<FloatType>(tensorType(cast.getOperand()).getElementType());
    auto to = dyn_cast<FloatType>(cast.getType().getElementType());
    if (!op || !op->hasOneUse() || !from || !to ||
        to.getWidth() >= from.getWidth() || !isExact(op, to))
      return failure();
    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(castTo(rewriter, cast.getLoc(), operand, to));
    Operation *narrow = rewriter.clone(*op);
    narrow->setOperands(operands);
    narrow->getResult(0).setType(cast.getType());
    rewriter.replaceOp(cast, narrow);
    return success();
  }

private:
  /// Returns whether the values that the op adds to the moved elements are
  /// representable in fewer bits.
  static bool isExact(Op op, FloatType type) {
    if constexpr (std::is_same_v<Op, PadOp>) {
      bool losesInfo = false;
      llvm::APFloat value = op.getValue();
      value.convert(type.getFloatSemantics(), llvm::APFloat::rmTowardZero,
                    &losesInfo);
      return !losesInfo;
    }
    return true;
  }
};

/// An update of the first rows of a table is an update of the table.
struct ScatterIntoFirstRows : OpRewritePattern<ScatterAddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterAddOp op,
                                PatternRewriter &rewriter) const override {
    auto rows =
        op.getInit() ? op.getInit().getDefiningOp<SliceOp>() : SliceOp();
    if (!rows || !rows->hasOneUse())
      return failure();
    Value table = rows.getOperand();
    ArrayRef<int64_t> shape = tensorType(table).getShape();
    int64_t dim = op.getDim(), count = rows.getLimits()[dim];
    for (auto [d, size] : llvm::enumerate(shape))
      if (rows.getStarts()[d] != 0 || rows.getStrides()[d] != 1 ||
          (static_cast<int64_t>(d) != dim && rows.getLimits()[d] != size))
        return failure();
    // The clamping of an index does not change.
    Value indices = op.getIndices();
    indices = MinOp::create(rewriter, op.getLoc(), indices.getType(), indices,
                            splatLike(rewriter, indices, count - 1));
    Value sums = ScatterAddOp::create(rewriter, op.getLoc(), table.getType(),
                                      indices, op.getUpdates(), table, dim);
    rewriter.replaceOpWithNewOp<SliceOp>(op, sums, rows.getStarts(),
                                         rows.getLimits(), rows.getStrides());
    return success();
  }
};

} // namespace

void ingot::populateShapeSimplifications(RewritePatternSet &patterns) {
  patterns
      .add<TransposeOfUnits, ReduceOverUnits, ReduceOfReduce,
           BroadcastOfBroadcast, ReshapeIntoBroadcast, TransposeBetweenReshapes,
           SumOfPads, ConcatOfConcat, GatherOfHalves, GatherOfRun,
           NarrowBefore<PadOp>, NarrowBefore<ConcatOp>, ScatterIntoFirstRows>(
          patterns.getContext());
}
