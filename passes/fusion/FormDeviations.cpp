// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// FormDeviations: replaces sums of squared differences from the mean of the
// same elements, however the mean is written, by an op that does not wait for
// the mean.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/fusion/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_FORMDEVIATIONS
#include "passes/fusion/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct FormDeviations : ingot::impl::FormDeviationsBase<FormDeviations> {
  using FormDeviationsBase::FormDeviationsBase;

  void runOnOperation() override {
    if (!Target::of(getOperation())->getKernels().splitsReductions())
      return;
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp op) {
      if (op.getKind() == ReductionKind::Sum)
        sums.push_back(op);
    });
    for (ReduceOp sum : sums)
      form(sum);
  }

private:
  auto getRemark() const {
    return remarkOptions(getArgument(), "SquaredDeviations");
  }

  void form(ReduceOp squares) {
    auto square = squares.getOperand().getDefiningOp<MulOp>();
    auto difference = square && square.getLhs() == square.getRhs()
                          ? square.getLhs().getDefiningOp<SubOp>()
                          : SubOp();
    if (!difference)
      return;
    Value x = difference.getLhs();
    Value mean = skipBroadcast(difference.getRhs(), squares);
    if (!mean) {
      x = difference.getRhs();
      mean = skipBroadcast(difference.getLhs(), squares);
    }
    if (!mean)
      return;
    auto refuse = [&](StringRef reason) {
      remark::missed(squares.getLoc(), getRemark())
          << remark::reason("{0}", reason);
    };
    if (!isMean(mean, x, squares.getDims()))
      return refuse("the differences are not from the mean of the elements");
    if (RowSpace::of(cast<Reduction>(squares.getOperation())))
      return refuse("a kernel over rows has the elements at hand");
    OpBuilder builder(squares);
    auto deviations = SquaredDeviationsOp::create(
        builder, squares.getLoc(), squares.getType(), x, squares.getDims());
    remark::passed(squares.getLoc(), getRemark())
        << remark::metric("bytes_saved", byteSize(tensorType(x)));
    squares.replaceAllUsesWith(deviations.getResult());
    squares.erase();
    ++numFormed;
  }

  static Value skipReshapes(Value value) {
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getOperand();
    return value;
  }

  /// Returns what a value repeats over the dimensions that the sum removes: a
  /// tensor of as many elements, in the same order, as the sum has; null if it
  /// repeats nothing in this way.
  static Value skipBroadcast(Value value, ReduceOp sum) {
    auto broadcast = value.getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return {};
    ArrayRef<int64_t> from = tensorType(broadcast.getOperand()).getShape();
    ArrayRef<int64_t> to = tensorType(value).getShape();
    for (auto [d, size] : llvm::enumerate(to)) {
      auto dim = static_cast<int64_t>(d);
      const auto *found = llvm::find(broadcast.getDims(), dim);
      bool repeats = found == broadcast.getDims().end() ||
                     from[found - broadcast.getDims().begin()] != size;
      if (size != 1 && repeats != llvm::is_contained(sum.getDims(), dim))
        return {};
    }
    return skipReshapes(broadcast.getOperand());
  }

  /// Returns whether a value is the mean of `x` over dimensions: the sum,
  /// divided by the number of its terms or multiplied by the reciprocal.
  static bool isMean(Value value, Value x, ArrayRef<int64_t> dims) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<DivOp, MulOp>(op))
      return false;
    auto isSum = [&](Value operand) {
      auto sum = skipReshapes(operand).getDefiningOp<ReduceOp>();
      return sum && sum.getKind() == ReductionKind::Sum &&
             sum.getOperand() == x && sum.getDims() == dims;
    };
    double count = 1;
    for (int64_t dim : dims)
      count *= static_cast<double>(tensorType(x).getDimSize(dim));
    double factor = isa<DivOp>(op) ? count : 1 / count;
    auto isFactor = [&](Value operand) {
      DenseElementsAttr constant;
      if (!matchPattern(operand, m_Constant(&constant)) || !constant.isSplat())
        return false;
      auto value = constant.getSplatValue<APFloat>();
      APFloat want(factor);
      bool isInexact;
      want.convert(value.getSemantics(), APFloat::rmNearestTiesToEven,
                   &isInexact);
      return value.bitwiseIsEqual(want);
    };
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    return (isSum(lhs) && isFactor(rhs)) ||
           (isa<MulOp>(op) && isSum(rhs) && isFactor(lhs));
  }
};
} // namespace
