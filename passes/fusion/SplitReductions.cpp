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

struct SplitReductions : ingot::impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    if (Target::of(getOperation())->splitsReductions())
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

  void split(ReduceOp op) {
    ArrayRef<int64_t> shape = tensorType(op.getOperand()).getShape();
    ArrayRef<int64_t> dims = op.getDims();
    if (tensorType(op.getOperand()).getNumElements() < minElements)
      return;
    int64_t results = tensorType(op.getResult()).getNumElements();
    bool isAlong = dims.back() + 1 == static_cast<int64_t>(shape.size());
    int64_t pieces = isAlong ? results : llvm::divideCeil(results, kStrip);
    int64_t before = pieces;
    // The outermost dimensions are left to the second step, such that each
    // piece of the first step is the longest possible contiguous range of
    // memory.
    SmallVector<int64_t> first(dims), second;
    while (pieces < kPieces && first.size() > 1) {
      pieces *= shape[first.front()];
      second.push_back(first.front());
      first.erase(first.begin());
    }
    auto options = remarkOptions(getArgument(), "SplitReduction");
    if (before >= kPieces)
      return;
    if (second.empty() || pieces <= before) {
      remark::missed(op.getLoc(), options)
          << remark::reason("only one dimension is reduced")
          << remark::metric("parallel", before);
      return;
    }
    // 16-bit elements are accumulated in f32 through both steps.
    OpBuilder builder(op);
    Arithmetic a(builder, op.getLoc());
    Value value = op.getOperand();
    if (isa<FloatType>(tensorType(value).getElementType()))
      value = widen(a, value);
    auto reduce = [&](ArrayRef<int64_t> over) {
      value = ReduceOp::create(builder, op.getLoc(),
                               dropDims(tensorType(value), over), op.getKind(),
                               value, over);
    };
    reduce(first);
    // The positions of the remaining dimensions in the partial result.
    SmallVector<int64_t> left;
    for (int64_t dim : second)
      left.push_back(dim -
                     llvm::count_if(first, [&](int64_t d) { return d < dim; }));
    reduce(left);
    remark::passed(op.getLoc(), options) << remark::metric("parallel", pieces);
    op.replaceAllUsesWith(narrow(a, value, op.getResult()));
    op.erase();
    ++numSplit;
  }
};

} // namespace
