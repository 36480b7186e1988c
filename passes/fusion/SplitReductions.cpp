// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// SplitReductions: splits reductions with few results into two steps with
// enough parallel work. How a reduction is split depends only on its shape,
// never on the machine: the order of a sum is the same for any number of
// threads.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/fusion/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "passes/fusion/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// The number of parallel pieces from which on a second step is not profitable.
constexpr int64_t kPieces = 16;
/// The number of adjacent results that one piece computes together.
constexpr int64_t kStrip = 256;
/// The number of terms from which on a piece is a row.
constexpr int64_t kShortestRow = 16;
/// The number of parts that a second step adds up quickly.
constexpr int64_t kMostParts = 1024;

struct SplitReductions : ingot::impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    if (Target::of(getOperation())->getKernels().splitsReductions())
      return;
    SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp op) { reductions.push_back(op); });
    for (ReduceOp op : reductions)
      if (maxTerms > 0)
        splitSum(op);
      else
        split(op);
  }

  /// Sums one dimension after the other, in pieces: the error of a sum grows
  /// with the number of terms that are added one by one.
  void splitSum(ReduceOp op) {
    RankedTensorType from = tensorType(op.getOperand());
    int64_t terms = 1;
    for (int64_t dim : op.getDims())
      terms *= from.getDimSize(dim);
    if (terms <= maxTerms || op.getKind() != ReductionKind::Sum ||
        !isa<FloatType>(from.getElementType()))
      return;
    OpBuilder builder(op);
    Arithmetic a(builder, op.getLoc());
    // 16-bit elements are accumulated in f32 through all steps.
    Value value = widen(a, op.getOperand());
    auto sum = [&](int64_t dim) {
      value = ReduceOp::create(builder, op.getLoc(),
                               dropDims(tensorType(value), {dim}),
                               ReductionKind::Sum, value, {dim});
    };
    for (int64_t dim : llvm::reverse(op.getDims())) {
      while (int64_t piece = findPiece(tensorType(value).getDimSize(dim))) {
        RankedTensorType type = tensorType(value);
        SmallVector<int64_t> shape(type.getShape());
        shape[dim] /= piece;
        shape.insert(shape.begin() + dim + 1, piece);
        value = ReshapeOp::create(
            builder, op.getLoc(),
            RankedTensorType::get(shape, type.getElementType()), value);
        sum(dim + 1);
      }
      sum(dim);
    }
    op.replaceAllUsesWith(narrow(a, value, op.getResult()));
    op.erase();
    ++numSplit;
  }

  /// Returns the largest divisor of the size up to the maximum number of terms;
  /// 0 if the size is within the maximum, or has none.
  int64_t findPiece(int64_t size) const {
    if (size <= maxTerms)
      return 0;
    for (int64_t piece = maxTerms; piece > 1; --piece)
      if (size % piece == 0)
        return piece;
    return 0;
  }

  auto getRemark() const {
    return remarkOptions(getArgument(), "SplitReduction");
  }

  static bool isAlong(ReduceOp op) {
    return op.getDims().back() + 1 == tensorType(op.getOperand()).getRank();
  }

  /// Returns the number of parallel pieces of a reduction in one step.
  static int64_t countPieces(ReduceOp op) {
    int64_t results = tensorType(op.getResult()).getNumElements();
    return isAlong(op) ? results : llvm::divideCeil(results, kStrip);
  }

  /// Returns whether a large reduction has too few pieces.
  bool isFew(ReduceOp op) const {
    return tensorType(op.getOperand()).getNumElements() >= minElements &&
           countPieces(op) < kPieces;
  }

  /// Splits the reduction into two steps, and the second one again.
  void split(ReduceOp op) {
    if (ReduceOp second = splitOnce(op))
      while (second)
        second = splitOnce(second);
    else if (isFew(op))
      remark::missed(op.getLoc(), getRemark())
          << remark::reason("only one dimension is reduced")
          << remark::metric("parallel", countPieces(op));
  }

  /// Returns the second step; none if the reduction stays as it is.
  ReduceOp splitOnce(ReduceOp op) {
    if (!isFew(op))
      return {};
    SmallVector<int64_t> shape(tensorType(op.getOperand()).getShape());
    // The outermost dimensions are left to the second step, such that each
    // piece of the first step is the longest possible contiguous range of
    // memory.
    int64_t before = countPieces(op), pieces = before;
    SmallVector<int64_t> first(op.getDims()), second;
    while (pieces < kPieces) {
      int64_t dim = first.front(), within = 1;
      for (int64_t inner : ArrayRef(first).drop_front())
        within *= shape[inner];
      // Less than a row would be left to the first step: the dimension itself
      // is split.
      if (within < kShortestRow) {
        int64_t parts = findParts(shape[dim], within, pieces, isAlong(op));
        if (parts > 1) {
          pieces *= parts;
          shape[dim] /= parts;
          shape.insert(shape.begin() + dim, parts);
          for (int64_t &later : first)
            ++later;
          second.push_back(dim);
          break;
        }
      }
      if (first.size() == 1)
        break;
      pieces *= shape[dim];
      second.push_back(dim);
      first.erase(first.begin());
    }
    if (second.empty() || pieces <= before)
      return {};
    // 16-bit elements are accumulated in f32 through both steps.
    OpBuilder builder(op);
    Arithmetic a(builder, op.getLoc());
    Value value = op.getOperand();
    if (isa<FloatType>(tensorType(value).getElementType()))
      value = widen(a, value);
    if (shape.size() != tensorType(value).getShape().size())
      value = ReshapeOp::create(
          builder, op.getLoc(),
          RankedTensorType::get(shape, tensorType(value).getElementType()),
          value);
    auto reduce = [&](ArrayRef<int64_t> over) {
      auto step = ReduceOp::create(builder, op.getLoc(),
                                   dropDims(tensorType(value), over),
                                   op.getKind(), value, over);
      value = step;
      return step;
    };
    reduce(first);
    // The positions of the remaining dimensions in the partial result.
    SmallVector<int64_t> left;
    for (int64_t dim : second)
      left.push_back(dim -
                     llvm::count_if(first, [&](int64_t d) { return d < dim; }));
    ReduceOp last = reduce(left);
    remark::passed(op.getLoc(), getRemark())
        << remark::metric("parallel", pieces);
    op.replaceAllUsesWith(narrow(a, value, op.getResult()));
    op.erase();
    ++numSplit;
    return last;
  }

  /// Returns the number of parts into which a dimension of `size` is split,
  /// each element of which stands for `within` terms: enough for parallel work
  /// and for short sums, whose errors are small, but not too many for the
  /// second step. 0 if its size has no such divisor.
  static int64_t findParts(int64_t size, int64_t within, int64_t pieces,
                           bool isAlong) {
    // Sums along the innermost dimension have a vector of partial sums. Across
    // it, fewer terms are not worth a second step.
    constexpr int64_t mostAlong = 65536, mostAcross = 4096;
    if (!isAlong && size < 4 * mostAcross)
      return 0;
    int64_t most = isAlong ? mostAlong : mostAcross, found = 0;
    for (int64_t parts = llvm::divideCeil(kPieces, pieces);
         parts <= std::min(kMostParts, size / 2); ++parts)
      if (size % parts == 0) {
        found = parts;
        if (size / parts * within <= most)
          break;
      }
    return found;
  }
};

} // namespace
