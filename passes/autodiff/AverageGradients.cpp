// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AverageGradients: sums of gradients and losses become means.
//
// Assumes a differentiated @train_step without an optimizer.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Passes.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Signature.h"

namespace ingot {
#define GEN_PASS_DEF_AVERAGEGRADIENTS
#include "passes/autodiff/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct AverageGradients : ingot::impl::AverageGradientsBase<AverageGradients> {
  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func)
      return;
    Signature step(func);
    std::optional<unsigned> weight = step.findResult("loss_weight");
    if (!weight)
      return;
    ResultList results = ResultList::of(step);
    OpBuilder builder(step.getReturn());
    Value sum = results.entries[*weight].value;
    // The sum of a few labels is exact, its reciprocal is not.
    DenseMap<Type, Value> factors;
    auto getFactor = [&](Type element) {
      Value &factor = factors[element];
      Arithmetic a(builder, sum.getLoc());
      bool isWider = element.getIntOrFloatBitWidth() >
                     tensorType(sum).getElementTypeBitWidth();
      if (!factor)
        factor = isWider ? a.div(1.0, a.cast(sum, element))
                         : a.cast(a.div(1.0, sum), element);
      return factor;
    };
    unsigned loss = *step.findResult("loss");
    for (auto [i, entry] : llvm::enumerate(results.entries)) {
      FlatSymbolRefAttr parameter = entry.gradient();
      if (!parameter && i != loss)
        continue;
      Arithmetic a(builder, parameter
                                ? NameLoc::get(parameter.getRootReference())
                                : entry.value.getLoc());
      RankedTensorType type = tensorType(entry.value);
      entry.value = a.mul(entry.value, a.fill(getFactor(type.getElementType()),
                                              type.getShape()));
    }
    results.entries.erase(results.entries.begin() + *weight);
    results.apply(step);
  }
};

} // namespace
