// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AccumulateGradients: the gradients of a step become sums over micro-batches.
//
// Assumes a differentiated @train_step without an optimizer.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Passes.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/ir/StepResults.h"

namespace ingot {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTS
#include "passes/autodiff/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct AccumulateGradients
    : ingot::impl::AccumulateGradientsBase<AccumulateGradients> {
  using AccumulateGradientsBase::AccumulateGradientsBase;

  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func || count <= 1)
      return;
    Signature step(func);
    ResultList results = ResultList::of(step);
    if (!results.hasGradients())
      return;
    unsigned loss = *step.findResult("loss");
    Value lossValue = results.entries[loss].value;
    // The loss is the end of the forward pass: its sum is computed there, but
    // simplification may have left the weight to be computed later.
    OpBuilder builder(step.getReturn());
    builder.setInsertionPointAfterValue(lossValue);
    std::optional<unsigned> weightIndex = step.findResult("loss_weight");
    if (weightIndex) {
      Operation *weight = results.entries[*weightIndex].value.getDefiningOp();
      Operation *end = lossValue.getDefiningOp();
      if (weight && (!end || end->isBeforeInBlock(weight)))
        builder.setInsertionPointAfter(weight);
    }
    Arithmetic a(builder, lossValue.getLoc());

    Value micro = countMicroBatches(step, a, results);
    Value isFirst = a.compare(Predicate::EQ, micro, 0.0);
    results.entries[loss].value =
        addTo(step, a, "loss/sum", isFirst, lossValue, results);
    if (weightIndex) {
      Value weight = results.entries[*weightIndex].value;
      results.entries[*weightIndex].value =
          addTo(step, a, "loss_weight/sum", isFirst, weight, results);
    } else {
      ResultList weight;
      weight.addNamed("loss_weight",
                      a.constantLike(lossValue, static_cast<double>(count)));
      results.entries.insert(results.entries.begin() + loss + 1,
                             weight.entries.front());
    }

    builder.setInsertionPoint(step.getReturn());
    // Sums are appended to the results during this iteration.
    for (size_t i = 0, e = results.entries.size(); i < e; ++i) {
      Value value = results.entries[i].value;
      if (FlatSymbolRefAttr parameter = results.entries[i].gradient()) {
        Arithmetic at(builder, NameLoc::get(parameter.getRootReference()));
        Value sum =
            addTo(step, at, (parameter.getValue() + "/sum").str(), isFirst,
                  at.cast(value, computeElement(value)), results);
        results.entries[i].value =
            at.cast(sum, tensorType(value).getElementType());
        ++numAccumulated;
        continue;
      }
      auto name = results.entries[i].attributes.getAs<StringAttr>(kNameAttr);
      if (name && isMetricSum(name))
        results.entries[i].value =
            addTo(step, Arithmetic(builder, value.getLoc()),
                  (name.getValue() + "/sum").str(), isFirst, value, results);
    }
    results.apply(step);
    getOperation()->setAttr(kGradAccumulationAttr,
                            builder.getI64IntegerAttr(count));
  }

private:
  /// Returns the index of this micro-batch within the step. Random ops get one
  /// counter for all micro-batches of all steps.
  Value countMicroBatches(Signature step, Arithmetic a, ResultList &results) {
    Builder builder(&getContext());
    auto type = RankedTensorType::get({}, builder.getI64Type());
    FlatSymbolRefAttr symbol =
        addState(getOperation(), "micro_step", Role::Accumulator, type);
    Value micro = step.addState(symbol, type);
    results.addState(symbol, a.add(micro, 1.0));
    for (const ResultList::Entry &entry : results.entries) {
      StateOp state =
          entry.state() ? findState(getOperation(), entry.state()) : StateOp();
      if (!state || state.getRole() != Role::Step)
        continue;
      BlockArgument steps = step.findArgument(entry.state());
      Operation *next = entry.value.getDefiningOp();
      if (!steps || !next)
        continue;
      OpBuilder start =
          OpBuilder::atBlockBegin(&step.getFunction().getBody().front());
      Arithmetic at(start, next->getLoc());
      Value scaled = at.mul(steps, static_cast<double>(count));
      Value counter = at.add(scaled, micro);
      steps.replaceUsesWithIf(counter, [&](OpOperand &use) {
        return use.getOwner() != next &&
               use.getOwner() != scaled.getDefiningOp();
      });
    }
    return micro;
  }

  /// Returns the sum of `value` and those of the micro-batches before it.
  Value addTo(Signature step, Arithmetic a, StringRef name, Value isFirst,
              Value value, ResultList &results) {
    RankedTensorType type = tensorType(value);
    FlatSymbolRefAttr symbol =
        addState(getOperation(), name, Role::Accumulator, type);
    Value before = step.addState(symbol, type);
    Value sum =
        a.add(a.select(a.fill(isFirst, type.getShape()), 0.0, before), value);
    results.addState(symbol, sum);
    return sum;
  }
};

} // namespace
