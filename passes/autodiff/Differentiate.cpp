// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Differentiate: reverse mode over the Differentiable interface.
//
// Assumes a @train_step of one block whose first result is the loss.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Passes.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/ReverseMode.h"

namespace ingot {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/autodiff/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct Differentiate : public ingot::impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override;
};
} // namespace

/// Builds the cotangent of the loss from which gradients start. With loss
/// scaling they are gradients of scale * loss.
static Value buildStart(Signature step, OpBuilder &builder, Location loc,
                        RankedTensorType type) {
  Value scale = step.findArgument(
      FlatSymbolRefAttr::get(builder.getContext(), kLossScaleName));
  return scale ? castTo(builder, loc, scale, type.getElementType())
               : splat(builder, loc, type, 1.0);
}

/// Replaces the input from which an imported backward pass starts.
static void startBackward(Signature step) {
  std::optional<unsigned> index = step.findInput(kCotangentKind);
  if (!index)
    return;
  func::FuncOp func = step.getFunction();
  BlockArgument cotangent = func.getArgument(*index);
  OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
  cotangent.replaceAllUsesWith(
      buildStart(step, builder, cotangent.getLoc(), tensorType(cotangent)));
  (void)func.eraseArgument(*index);
}

void Differentiate::runOnOperation() {
  ModuleOp module = getOperation();
  func::FuncOp func = findFunction(module, kTrainStepName);
  if (!func)
    return;
  Signature step(func);
  ResultList before = ResultList::of(step);
  if (before.entries.empty() || step.resultName(0) != "loss")
    return;
  SymbolTable symbols(module);
  auto isTrained = [&](FlatSymbolRefAttr symbol) {
    auto state = symbol ? symbols.lookup<StateOp>(symbol.getAttr()) : StateOp();
    return state && state.getRole() == Role::Parameter;
  };
  if (llvm::any_of(before.entries, [&](const ResultList::Entry &entry) {
        return entry.gradient() || isTrained(entry.state());
      }))
    return startBackward(step);

  // The parameters are in the order of the states, whether the step still reads
  // them or not.
  SmallVector<std::pair<StateOp, Value>> trained;
  SmallVector<Value> parameters;
  auto arguments = step.mapStates();
  for (StateOp state : module.getOps<StateOp>()) {
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    if (!isTrained(symbol))
      continue;
    Value argument = arguments.lookup(symbol);
    trained.emplace_back(state, argument);
    if (argument)
      parameters.push_back(argument);
  }

  Block &block = func.getBody().front();
  Value loss = before.entries.front().value;
  Activity activity(block, parameters, {loss});
  if (failed(checkGradients(block, activity)))
    return signalPassFailure();

  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  OpBuilder builder(step.getReturn());
  Cotangents cotangents;
  cotangents.add(builder, loss.getLoc(), loss,
                 buildStart(step, builder, loss.getLoc(), tensorType(loss)));
  FailureOr<unsigned> built =
      addCotangents(forward, builder, activity, cotangents);
  if (failed(built))
    return signalPassFailure();
  numDifferentiated += *built;

  // Loops that save values for their gradients have new results.
  before = ResultList::of(step);
  loss = before.entries.front().value;
  ResultList results;
  results.add(loss, before.entries.front().attributes);
  unsigned numGradientsBuilt = 0;
  for (auto [state, parameter] : trained) {
    if (!parameter || !activity.isActive(parameter)) {
      ++numUnreached;
      remark::missed(state.getLoc(), remarkOptions(getArgument(), "Gradient"))
          << remark::metric("parameter", state.getSymName())
          << remark::reason(
                 "the loss does not depend on it: it is not updated");
      continue;
    }
    // The parameter is used by the loss only through ops with zero derivative:
    // its gradient is zero, not absent.
    Value gradient = cotangents.get(parameter);
    if (!gradient)
      gradient = splat(builder, parameter.getLoc(), tensorType(parameter), 0.0);
    results.addGradient(FlatSymbolRefAttr::get(state.getSymNameAttr()),
                        gradient);
    ++numGradientsBuilt;
  }
  if (numGradientsBuilt == 0) {
    (void)emitUserError(
        func.getLoc(),
        "there is nothing to train: the loss depends on no trainable parameter",
        trained.empty() ? "the model has no trainable parameter: check "
                          "--trainable and --freeze"
                        : "choose another loss, or other parameters with "
                          "--trainable and --freeze");
    return signalPassFailure();
  }
  results.entries.append(std::next(before.entries.begin()),
                         before.entries.end());
  numGradients += numGradientsBuilt;
  results.apply(step);
  step.eraseUnused();
}
