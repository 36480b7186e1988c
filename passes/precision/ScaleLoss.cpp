// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ScaleLoss: adds the loss scale.
//
// Assumes a @train_step with a loss. If it already contains gradients, it must
// state where they start.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Diagnostics.h"
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

  /// Returns whether the step contains updates of parameters.
  static bool updatesParameters(ModuleOp module, const ResultList &results) {
    return llvm::any_of(results.entries, [&](const ResultList::Entry &entry) {
      StateOp state =
          entry.state() ? findState(module, entry.state()) : StateOp();
      return state && state.getRole() == Role::Parameter;
    });
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp func = findFunction(module, kTrainStepName);
    if (!func)
      return;
    Signature step(func);
    ResultList results = ResultList::of(step);
    bool updates = updatesParameters(module, results);
    if (updates ||
        (results.hasGradients() && !step.findInput(kCotangentKind))) {
      (void)emitUserError(
          func.getLoc(),
          Twine("the loss cannot be scaled: the training step of the model ") +
              (updates ? "updates its parameters itself"
                       : "does not say what its gradients start from, by an "
                         "input of kind 'cotangent'"),
          "choose fp32 or bf16 without --loss-scaling, or compile the forward "
          "model");
      return signalPassFailure();
    }
    auto type = RankedTensorType::get({}, Float32Type::get(&getContext()));
    FlatSymbolRefAttr scale =
        addState(module, kLossScaleName, Role::LossScale, type, initial);
    step.addState(scale, type);
  }
};
} // namespace
