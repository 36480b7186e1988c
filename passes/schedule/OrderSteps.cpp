// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// OrderSteps: reorders operations to reduce peak memory.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/TensorLevel.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Machine.h"
#include "passes/schedule/Order.h"
#include "passes/schedule/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_ORDERSTEPS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct OrderSteps : ingot::impl::OrderStepsBase<OrderSteps> {
  using OrderStepsBase::OrderStepsBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || func->hasAttr(kScheduledAttr))
      return;
    if (failed(verifyTensorLevel(func, getArgument())))
      return signalPassFailure();
    StepGraph graph(Signature(func), *Target::of(func));
    SmallVector<unsigned> program = graph.getProgramOrder();
    SmallVector<unsigned> order = improveOrder(graph, program);
    OrderCost before = measureOrder(graph, program);
    OrderCost after = measureOrder(graph, order);
    auto remark = remarkOptions(getArgument(), "Order");
    if (after < before)
      remark::passed(func.getLoc(), remark)
          << remark::metric("function", func.getName())
          << remark::metric("live_bytes", after.peakBytes)
          << remark::metric("live_bytes_before", before.peakBytes);
    else
      remark::missed(func.getLoc(), remark)
          << remark::metric("function", func.getName())
          << remark::reason("no order found that needs less memory");
    graph.applyOrder(order);
  }
};

} // namespace
