// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// WidenConvolutions: computes gradients by filters in f32 where the library
// does not have them in 16 bits.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/targets/cuda/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_WIDENCONVOLUTIONS
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct WidenConvolutions
    : ingot::impl::WidenConvolutionsBase<WidenConvolutions> {
  void runOnOperation() override {
    std::unique_ptr<const Target> target = Target::of(getOperation());
    SmallVector<ConvFilterGradOp> gradients;
    getOperation().walk([&](ConvFilterGradOp op) {
      if (op.getType().getElementTypeBitWidth() == 16)
        gradients.push_back(op);
    });
    for (ConvFilterGradOp op : gradients) {
      LibrarySupport support =
          target->getSupport(cast<LibraryCall>(op.getOperation()));
      if (support)
        continue;
      widen(op);
      ++numWidened;
      remark::missed(op.getLoc(), remarkOptions(getArgument(), "Precision"))
          << remark::metric("op", op->getName().getStringRef())
          << remark::reason("{0}", support.reason);
    }
  }

private:
  static void widen(ConvFilterGradOp op) {
    OpBuilder builder(op);
    Type f32 = builder.getF32Type();
    RankedTensorType narrow = op.getType();
    Operation *wide = builder.clone(*op);
    builder.setInsertionPoint(wide);
    for (OpOperand &operand : wide->getOpOperands())
      operand.set(castTo(builder, op.getLoc(), operand.get(), f32));
    wide->getResult(0).setType(narrow.clone(f32));
    builder.setInsertionPointAfter(wide);
    op.replaceAllUsesWith(castTo(builder, op.getLoc(), wide->getResult(0),
                                 narrow.getElementType()));
    op.erase();
  }
};

} // namespace
