//===----------------------------------------------------------------------===//
//
// ScaleLoss: the state that gradients are scaled by.
//
// Assumes a @train_step with a loss and without gradients.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "passes/precision/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_SCALELOSS
#include "passes/precision/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct ScaleLoss : ingot::impl::ScaleLossBase<ScaleLoss> {
  using ScaleLossBase::ScaleLossBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp func = findFunction(module, kTrainStepName);
    if (!func)
      return;
    Signature step(func);
    for (const ResultList::Entry &entry : ResultList::of(step).entries)
      if (entry.gradient())
        return;
    auto type = RankedTensorType::get({}, Float32Type::get(&getContext()));
    FlatSymbolRefAttr scale =
        addState(module, kLossScaleName, Role::LossScale, type, initial);
    step.addState(scale, type);
  }
};
} // namespace
