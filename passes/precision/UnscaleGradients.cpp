// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// UnscaleGradients: turns the gradients of the scaled loss into those of the
// loss.
//
// Assumes gradients by ScaleLoss and Differentiate.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Signature.h"
#include "passes/precision/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_UNSCALEGRADIENTS
#include "passes/precision/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct UnscaleGradients : ingot::impl::UnscaleGradientsBase<UnscaleGradients> {
  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func)
      return;
    Signature step(func);
    Value scale = step.findArgument(
        FlatSymbolRefAttr::get(&getContext(), kLossScaleName));
    if (!scale)
      return;
    ResultList results = ResultList::of(step);
    OpBuilder builder(step.getReturn());
    Value inverse = Arithmetic(builder, scale.getLoc()).div(1.0, scale);
    for (ResultList::Entry &entry : results.entries) {
      FlatSymbolRefAttr parameter = entry.gradient();
      if (!parameter)
        continue;
      Arithmetic a(builder, NameLoc::get(parameter.getRootReference()));
      RankedTensorType type = tensorType(entry.value);
      Value factor =
          a.fill(a.cast(inverse, type.getElementType()), type.getShape());
      entry.value = a.mul(entry.value, factor);
    }
    results.apply(step);
  }
};
} // namespace
