// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// SplitMicroSteps: creates a function for all micro-batches of a step except
// the last.
//
// Assumes a @train_step by AccumulateGradients, with its optimizer.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Passes.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Signature.h"

namespace ingot {
#define GEN_PASS_DEF_SPLITMICROSTEPS
#include "passes/autodiff/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct SplitMicroSteps : ingot::impl::SplitMicroStepsBase<SplitMicroSteps> {
  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func || !getOperation()->hasAttr(kGradAccumulationAttr))
      return;
    OpBuilder builder(func);
    auto micro = cast<func::FuncOp>(builder.clone(*func));
    micro.setName(kAccumulateStepName);
    // Sums in shards are of what ranks exchange for each micro-batch: what is
    // kept of it is as in the last.
    Signature signature(micro);
    bool areSharded = llvm::any_of(
        ResultList::of(signature).entries, [&](const ResultList::Entry &entry) {
          FlatSymbolRefAttr symbol = entry.state();
          StateOp state =
              symbol ? findState(getOperation(), symbol) : StateOp();
          return state && state.getRole() == Role::Accumulator &&
                 state.getShard() && signature.findArgument(symbol);
        });
    keep(signature, [&](StringRef name, StateOp state) {
      return name == "loss" ||
             (state && (isSum(state) || state.getRole() == Role::Running ||
                        (areSharded && state.getRole() == Role::Accumulator)));
    });

    for (auto other : getOperation().getOps<func::FuncOp>())
      if (other != micro && hasSums(Signature(other)))
        startAnew(Signature(other));
  }

private:
  bool hasSums(Signature signature) {
    for (unsigned i = 0, e = signature.getReturn()->getNumOperands(); i < e;
         ++i)
      if (FlatSymbolRefAttr state = signature.resultState(i);
          state && isSum(findState(getOperation(), state)))
        return true;
    return false;
  }

  /// The last micro-batch does not store the sums.
  void startAnew(Signature step) {
    keep(step,
         [](StringRef, StateOp state) { return !state || !isSum(state); });
    OpBuilder builder(step.getReturn());
    ResultList results = ResultList::of(step);
    for (auto state : getOperation().getOps<StateOp>())
      if (isSum(state) &&
          !isa<FloatType>(state.getTensorType().getElementType())) {
        builder.setInsertionPoint(step.getReturn());
        results.addState(
            FlatSymbolRefAttr::get(state.getSymNameAttr()),
            splat(builder, state.getLoc(), state.getTensorType(), 0.0));
      }
    results.apply(step);
  }

  /// Returns whether a state is a whole sum over micro-batches, which the last
  /// one starts anew. Sums over ranks are sharded.
  static bool isSum(StateOp state) {
    return state.getRole() == Role::Accumulator && !state.getShard();
  }

  /// Keeps only the results for which `wanted(name, state)` holds; the state is
  /// null for results that are not states.
  void keep(Signature signature,
            llvm::function_ref<bool(StringRef, StateOp)> wanted) {
    ResultList results = ResultList::of(signature), kept;
    for (auto [i, entry] : llvm::enumerate(results.entries)) {
      FlatSymbolRefAttr state = entry.state();
      if (wanted(signature.resultName(i),
                 state ? findState(getOperation(), state) : StateOp()))
        kept.add(entry.value, entry.attributes);
    }
    kept.apply(signature);
    signature.eraseUnused();
  }
};

} // namespace
