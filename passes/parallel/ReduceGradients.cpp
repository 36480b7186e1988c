// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ReduceGradients: gradients become sums over ranks.
//
// Assumes a differentiated @train_step without an optimizer.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/StepResults.h"
#include "passes/parallel/GradComm.h"
#include "passes/parallel/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_REDUCEGRADIENTS
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

using Entry = ResultList::Entry;

struct ReduceGradients : ingot::impl::ReduceGradientsBase<ReduceGradients> {
  using ReduceGradientsBase::ReduceGradientsBase;

  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func)
      return;
    axes = Mesh::of(func).getSampleAxes();
    Signature step(func);
    ResultList results = ResultList::of(step);
    if (!results.hasGradients())
      return;
    llvm::Expected<GradComm> how = GradComm::parse(gradComm);
    if (!how) {
      (void)emitUserError(&getContext(), how.takeError());
      return signalPassFailure();
    }
    Value ranks = addWeight(step, results);
    Type sent = how->getSentType(&getContext());
    if (eachMicroBatch)
      for (Entry &entry : results.entries)
        if (entry.gradient())
          reduceMicroBatch(step, entry, sent);
    if (sent)
      for (Entry &entry : results.entries)
        if (isReduced(step, entry) && entry.gradient() &&
            tensorType(entry.value).getElementType().isF32())
          entry.value = castGradient(step, entry.value, sent);
    OpBuilder builder(step.getReturn());
    auto reduce = [&](Value value, FlatSymbolRefAttr gradientOf = {}) -> Value {
      ++numSums;
      return AllReduceOp::create(builder, value.getLoc(), ReductionKind::Sum,
                                 value, axes, gradientOf);
    };
    for (Entry &entry : results.entries)
      if (isReduced(step, entry))
        entry.value = reduce(entry.value, entry.gradient());
      else if (holdsMagnitudes(entry))
        // Ranks that scale by other magnitudes would round other numbers; those
        // of earlier steps are equal on all ranks.
        entry.value = AllReduceOp::create(builder, entry.value.getLoc(),
                                          ReductionKind::Max, entry.value, axes,
                                          FlatSymbolRefAttr());
    ranks = reduce(ranks);
    for (Entry &entry : results.entries) {
      if (!isReduced(step, entry))
        continue;
      if (!entry.state()) {
        if (FlatSymbolRefAttr parameter = entry.gradient())
          entry.value =
              Arithmetic(builder, entry.value.getLoc())
                  .cast(entry.value, tensorType(step.findArgument(parameter))
                                         .getElementType());
        continue;
      }
      Arithmetic a(builder, entry.value.getLoc());
      RankedTensorType type = tensorType(entry.value);
      Value count = a.cast(ranks, type.getElementType());
      entry.value = a.div(entry.value, a.fill(count, type.getShape()));
    }
    results.apply(step);
  }

private:
  /// Makes sure that the step returns the loss's weight. Returns what each rank
  /// counts as: 1.
  Value addWeight(Signature step, ResultList &results) {
    unsigned loss = *step.findResult("loss");
    OpBuilder builder =
        OpBuilder::atBlockBegin(&step.getFunction().getBody().front());
    Arithmetic a(builder, results.entries[loss].value.getLoc());
    Value one = a.constantLike(results.entries[loss].value, 1.0);
    if (!step.findResult("loss_weight")) {
      ResultList weight;
      weight.addNamed("loss_weight", one);
      results.entries.insert(results.entries.begin() + loss + 1,
                             weight.entries.front());
    }
    return one;
  }

  /// Sums the gradient of this micro-batch over ranks before it is added to
  /// those of the others, if it is.
  void reduceMicroBatch(Signature step, const Entry &entry, Type sent) {
    Value sum = entry.value;
    while (auto cast = sum.getDefiningOp<CastOp>())
      sum = cast.getOperand();
    auto add = sum.getDefiningOp<AddOp>();
    bool isSum =
        add &&
        llvm::any_of(ResultList::of(step).entries, [&](const Entry &other) {
          return other.value == sum && other.state() &&
                 findState(getOperation(), other.state()).getRole() ==
                     Role::Accumulator;
        });
    if (!isSum)
      return;
    OpBuilder builder(add);
    Arithmetic a(builder, add.getLoc());
    RankedTensorType type = tensorType(add.getRhs());
    Value own = add.getRhs();
    if (sent && type.getElementType().isF32())
      own = castGradient(step, own, sent);
    builder.setInsertionPoint(add);
    Value all = AllReduceOp::create(builder, add.getLoc(), ReductionKind::Sum,
                                    own, axes, entry.gradient());
    ++numSums;
    add.getRhsMutable().assign(a.cast(all, type.getElementType()));
    reduced.insert(entry.value);
  }

  /// Right behind the gradient, so that it is written in that type alone.
  static Value castGradient(Signature step, Value gradient, Type element) {
    OpBuilder builder(step.getReturn());
    if (gradient.getDefiningOp())
      builder.setInsertionPointAfterValue(gradient);
    return Arithmetic(builder, gradient.getLoc()).cast(gradient, element);
  }

  bool holdsMagnitudes(const Entry &entry) {
    return entry.state() &&
           findState(getOperation(), entry.state()).getRole() ==
               Role::Magnitudes;
  }

  bool isReduced(Signature step, const Entry &entry) {
    if (FlatSymbolRefAttr symbol = entry.state())
      return findState(getOperation(), symbol).getRole() == Role::Running &&
             isa<FloatType>(tensorType(entry.value).getElementType());
    if (entry.gradient())
      return !reduced.contains(entry.value);
    auto name = entry.attributes.getAs<StringAttr>(kNameAttr);
    return name &&
           (name == "loss" || name == "loss_weight" || isMetricSum(name));
  }

  /// The axes along which ranks train on different samples.
  SmallVector<int64_t, 2> axes;
  /// The gradients whose sum over micro-batches is one over ranks, too.
  llvm::DenseSet<Value> reduced;
};

} // namespace
