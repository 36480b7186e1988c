// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Simplify: canonicalization, common subexpression elimination, and patterns on
// shapes.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ingot {
#define GEN_PASS_DEF_SIMPLIFY
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct Simplify : public ingot::impl::SimplifyBase<Simplify> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      if (isa_and_nonnull<IngotDialect>(&op.getDialect()))
        op.getCanonicalizationPatterns(set, context);
    populateArithmeticSimplifications(set);
    populateContractionSimplifications(set);
    populateEmptySimplifications(set);
    populateLoopSimplifications(set);
    populateShapeSimplifications(set);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    // Merging equal values enables further simplifications, seldom more than
    // once.
    constexpr int kMaxRounds = 10;
    for (int round = 0; round < kMaxRounds; ++round) {
      ++numRounds;
      bool simplified = false, merged = false;
      (void)applyPatternsGreedily(getOperation(), patterns,
                                  GreedyRewriteConfig(), &simplified);
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance(getOperation());
      eliminateCommonSubExpressions(rewriter, dominance, getOperation(),
                                    &merged);
      if (!merged)
        return;
    }
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
