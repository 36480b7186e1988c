// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Simplifications of loops that change the order of sums.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace ingot;

static bool isZero(Value value) {
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat() &&
         isa<FloatType>(constant.getElementType()) &&
         constant.getSplatValue<APFloat>().isZero();
}

namespace {

/// sum += a^T b in every iteration = A^T B after the loop, where A and B are
/// the stacks of a and b: the gradients of weights that a loop captures are one
/// matmul each. Likewise, sum += reduce(x) is one reduction.
struct HoistAccumulation : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp loop,
                                PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < loop.countCarried(); ++i) {
      Operation *term = findTerm(loop, i);
      if (!term || loop.getResult(i).use_empty() || !isCheap(loop, term))
        continue;
      SmallVector<Value> stacks;
      loop = stack(loop, term->getOperands(), stacks, rewriter);
      rewriter.setInsertionPointAfter(loop);
      Value sum = isa<MatmulOp>(term)
                      ? multiply(cast<MatmulOp>(term), stacks, rewriter)
                      : reduce(cast<ReduceOp>(term), stacks[0], rewriter);
      rewriter.replaceAllUsesWith(loop.getResult(i), sum);
      return success();
    }
    return failure();
  }

private:
  /// Returns the op that computes what each iteration adds to a carried value
  /// that begins with zero, if its operands can be stacked.
  static Operation *findTerm(LoopOp loop, unsigned carried) {
    BlockArgument argument = loop.getBlock().getArgument(carried);
    Value yielded = loop.getYield()->getOperand(carried);
    auto sum = yielded.getDefiningOp<AddOp>();
    if (!sum || !sum->hasOneUse() || !argument.hasOneUse() ||
        !llvm::is_contained(sum->getOperands(), argument) ||
        !isZero(loop.getInitial()[carried]))
      return nullptr;
    Value term = sum.getLhs() == argument ? sum.getRhs() : sum.getLhs();
    if (auto matmul = term.getDefiningOp<MatmulOp>()) {
      bool isSum = matmul.getTransposeLhs() && !matmul.getTransposeRhs() &&
                   matmul.getType().getRank() == 2;
      return isSum ? matmul : nullptr;
    }
    auto reduce = term.getDefiningOp<ReduceOp>();
    bool isSum = reduce && reduce.getKind() == ReductionKind::Sum &&
                 tensorType(term).getElementTypeBitWidth() >= 32;
    return isSum ? reduce : nullptr;
  }

  /// Returns the stack of a value of the body that exists anyway; null if there
  /// is none.
  static Value findStack(LoopOp loop, Value value) {
    for (auto [sequence, slice] :
         llvm::zip_equal(loop.getSequences(), loop.getSliceArguments()))
      if (slice == value)
        return sequence;
    unsigned count = loop.countCarried();
    for (unsigned i = count; i < loop.getNumResults(); ++i)
      if (loop.getYield()->getOperand(i) == value)
        return loop.getResult(i);
    return {};
  }

  /// Compares what is written to stacks with the sum, which an iteration reads
  /// and writes.
  static bool isCheap(LoopOp loop, Operation *term) {
    int64_t bytes = 0;
    for (Value operand : term->getOperands())
      if (!findStack(loop, operand))
        bytes += byteSize(tensorType(operand));
    return bytes <= 2 * byteSize(tensorType(term->getResult(0)));
  }

  /// Returns the loop with outputs for these values of the body, and the
  /// stacks.
  static LoopOp stack(LoopOp loop, ValueRange values,
                      SmallVectorImpl<Value> &stacks,
                      PatternRewriter &rewriter) {
    SmallVector<Value> added;
    SmallVector<Type> types(loop.getResultTypes());
    for (Value value : values) {
      if (findStack(loop, value) || llvm::is_contained(added, value))
        continue;
      added.push_back(value);
      SmallVector<int64_t> shape(tensorType(value).getShape());
      shape.insert(shape.begin(), static_cast<int64_t>(loop.getCount()));
      types.push_back(
          RankedTensorType::get(shape, tensorType(value).getElementType()));
    }
    SmallVector<Value> operands(values);
    if (!added.empty()) {
      rewriter.setInsertionPoint(loop);
      auto larger = LoopOp::create(
          rewriter, loop.getLoc(), types, loop.getCount(), loop.getReverse(),
          loop.getInitial(), loop.getSequences(), loop.getCaptures());
      rewriter.inlineRegionBefore(loop.getBody(), larger.getBody(),
                                  larger.getBody().begin());
      Operation *yield = larger.getYield();
      rewriter.modifyOpInPlace(yield, [&] {
        yield->insertOperands(yield->getNumOperands(), added);
      });
      rewriter.replaceOp(loop,
                         larger.getResults().take_front(loop.getNumResults()));
      loop = larger;
    }
    for (Value value : operands)
      stacks.push_back(findStack(loop, value));
    return loop;
  }

  static Value multiply(MatmulOp term, ArrayRef<Value> stacks,
                        PatternRewriter &rewriter) {
    auto rows = [&](Value stack) {
      ArrayRef<int64_t> shape = tensorType(stack).getShape();
      return reshapeTo(rewriter, term.getLoc(), stack,
                       {shape[0] * shape[1], shape[2]});
    };
    return MatmulOp::create(rewriter, term.getLoc(), term.getType(),
                            rows(stacks[0]), rows(stacks[1]),
                            /*transpose_lhs=*/true, /*transpose_rhs=*/false);
  }

  static Value reduce(ReduceOp term, Value stack, PatternRewriter &rewriter) {
    SmallVector<int64_t> dims = {0};
    for (int64_t dim : term.getDims())
      dims.push_back(dim + 1);
    return sumOver(rewriter, term.getLoc(), stack, dims);
  }
};

} // namespace

void ingot::populateLoopSimplifications(RewritePatternSet &patterns) {
  patterns.add<HoistAccumulation>(patterns.getContext());
}
