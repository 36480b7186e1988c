//===----------------------------------------------------------------------===//
// Polynomials for the functions that LLVM would call one element at a time.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/codegen/cpu/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/codegen/cpu/Passes.h.inc"
} // namespace ingot

using namespace mlir;

namespace {
struct ExpandMath : ingot::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    MathPolynomialApproximationOptions options;
    if (polynomials)
      populateMathPolynomialApproximationPatterns(patterns, options);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
