// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// GuardUpdates: a step whose gradients are not finite changes nothing except
// the loss scale.
//
// Assumes an optimizer applied with clipping, whose norm tells whether all
// gradients are finite.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/precision/Passes.h"

#include <limits>

namespace ingot {
#define GEN_PASS_DEF_GUARDUPDATES
#include "passes/precision/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// The defaults of the field: Micikevicius et al. 2018, and torch's GradScaler.
static constexpr std::pair<StringLiteral, double> kHyperparameters[] = {
    {"loss_scale_growth", 2.0},
    {"loss_scale_backoff", 0.5},
    {"loss_scale_interval", 2000.0},
    {"loss_scale_hysteresis", 1.0}};

namespace {
struct GuardUpdates : ingot::impl::GuardUpdatesBase<GuardUpdates> {
  using GuardUpdatesBase::GuardUpdatesBase;

  void runOnOperation() override;

private:
  void adapt(Signature step, Arithmetic a, Value scale, Value isFinite,
             ResultList &results);
};
} // namespace

/// Returns the next scale, from the number of good steps in a row and of the
/// overflows that the hysteresis still tolerates.
void GuardUpdates::adapt(Signature step, Arithmetic a, Value scale,
                         Value isFinite, ResultList &results) {
  Builder builder(&getContext());
  Type f64 = builder.getF64Type(), f32 = builder.getF32Type();
  SmallVector<Attribute> defaults(
      getOperation()
          ->getAttrOfType<ArrayAttr>(kHyperparametersAttr)
          .getAsRange<Attribute>());
  SmallVector<Value> hyper;
  for (auto [name, value] : kHyperparameters) {
    hyper.push_back(
        step.addInput(name, "hyper", RankedTensorType::get({}, f64)));
    defaults.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", builder.getStringAttr(name)),
         builder.getNamedAttr("default", builder.getF64FloatAttr(value))}));
  }
  getOperation()->setAttr(kHyperparametersAttr, builder.getArrayAttr(defaults));
  Value growth = hyper[0], backoff = hyper[1], interval = hyper[2],
        hysteresis = hyper[3];

  auto scalar = RankedTensorType::get({}, f64);
  auto counter = [&](StringRef name) {
    return addState(getOperation(), (kLossScaleName + "/" + name).str(),
                    Role::LossScale, scalar);
  };
  FlatSymbolRefAttr goodState = counter("good_steps");
  FlatSymbolRefAttr overflowState = counter("overflows");
  Value good = a.add(step.addState(goodState, scalar), 1.0);
  Value overflows = a.add(step.addState(overflowState, scalar), 1.0);

  Value wide = a.cast(scale, f64);
  Value isLong = a.compare(Predicate::GE, good, interval);
  Value isTooOften = a.compare(Predicate::GE, overflows, hysteresis);
  Value grown = a.select(isLong, a.mul(wide, growth), wide);
  Value reduced = a.select(isTooOften, a.max(a.mul(wide, backoff), 1.0), wide);
  Value next = a.cast(a.select(isFinite, grown, reduced), f32);
  // No power of two above this is an f32 number: further growth would overflow
  // permanently.
  next = a.min(next, 0x1p127);
  results.addState(FlatSymbolRefAttr::get(&getContext(), kLossScaleName), next);
  // A run of good steps ends with an overflow or with growth.
  Value counted = a.select(isLong, 0.0, good);
  results.addState(goodState, a.select(isFinite, counted, 0.0));
  // Growth resets the count of overflows.
  Value before = a.sub(overflows, 1.0);
  results.addState(overflowState,
                   a.select(isFinite, a.select(isLong, 0.0, before),
                            a.select(isTooOften, 0.0, overflows)));
}

void GuardUpdates::runOnOperation() {
  func::FuncOp func = findFunction(getOperation(), kTrainStepName);
  if (!func)
    return;
  Signature step(func);
  Value scale =
      step.findArgument(FlatSymbolRefAttr::get(&getContext(), kLossScaleName));
  std::optional<unsigned> norm = step.findResult("grad_norm");
  if (!norm || !(scale || always))
    return;
  for (auto [name, value] : kHyperparameters)
    if (scale && failed(step.checkIsFree(name)))
      return signalPassFailure();
  ResultList results = ResultList::of(step);
  OpBuilder builder(step.getReturn());
  Arithmetic a(builder,
               NameLoc::get(builder.getStringAttr("check of the gradients")));
  // The comparison is false for NaN too.
  Value isFinite = a.compare(Predicate::LT, results.entries[*norm].value,
                             std::numeric_limits<double>::infinity());

  SymbolTable symbols(getOperation());
  for (ResultList::Entry &entry : results.entries) {
    FlatSymbolRefAttr state = entry.state();
    // A sum that is not finite must remain so until the end of the step.
    if (!state ||
        symbols.lookup<StateOp>(state.getAttr()).getRole() == Role::Accumulator)
      continue;
    Value old = step.findArgument(state);
    if (!old)
      old = step.addState(state, entry.value.getType());
    Arithmetic at(builder, NameLoc::get(state.getRootReference()));
    entry.value = at.select(at.fill(isFinite, tensorType(old).getShape()),
                            entry.value, old);
    ++numGuarded;
  }
  ResultList added;
  Type f32 = builder.getF32Type();
  if (scale)
    added.addNamed("loss_scale", scale);
  added.addNamed("skipped", a.sub(1.0, a.cast(isFinite, f32)));
  results.entries.insert(std::next(results.entries.begin(), *norm + 1),
                         added.entries.begin(), added.entries.end());
  if (scale)
    adapt(step, a, scale, isFinite, results);
  results.apply(step);
  remark::passed(func.getLoc(), remarkOptions(getArgument(), "GuardedUpdates"))
      << remark::metric("states", numGuarded.getValue());
}
