// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// PadConvolutions: pads inputs explicitly where the library's gradient by the
// filter is wrong.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/targets/cuda/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_PADCONVOLUTIONS
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct PadConvolutions : ingot::impl::PadConvolutionsBase<PadConvolutions> {
  void runOnOperation() override {
    std::unique_ptr<const Target> target = Target::of(getOperation());
    SmallVector<ConvFilterGradOp> gradients;
    getOperation().walk([&](ConvFilterGradOp op) {
      if (op.getPadLow() != op.getPadHigh())
        gradients.push_back(op);
    });
    for (ConvFilterGradOp op : gradients) {
      LibrarySupport support =
          target->getCalls().getSupport(cast<LibraryCall>(op.getOperation()));
      if (support)
        continue;
      pad(op);
      ++numPadded;
      remark::missed(op.getLoc(), remarkOptions(getArgument(), "Padding"))
          << remark::metric("op", op->getName().getStringRef())
          << remark::reason("{0}", support.reason);
    }
  }

private:
  /// Leaves to the gradient what padding both sides have in common.
  static void pad(ConvFilterGradOp op) {
    OpBuilder builder(op);
    int64_t rank = tensorType(op.getInput()).getRank();
    int64_t first = op.getChannelsLast() ? 1 : 2;
    SmallVector<int64_t> low(rank, 0), high(rank, 0), none(rank, 0), common;
    for (auto [i, before, after] :
         llvm::enumerate(op.getPadLow(), op.getPadHigh())) {
      common.push_back(std::min(before, after));
      low[first + i] = before - common.back();
      high[first + i] = after - common.back();
    }
    op.getInputMutable().assign(PadOp::create(builder, op.getLoc(),
                                              op.getInput(), low, high, none,
                                              llvm::APFloat(0.0)));
    op.setPadLow(common);
    op.setPadHigh(common);
  }
};

} // namespace
