// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// CheckSamples: the first dimension of inputs counts samples.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/SampleFlow.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/verify/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_CHECKSAMPLES
#include "passes/verify/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

static constexpr StringLiteral kHint =
    "if that dimension is time, as without PyTorch's batch_first=True, the "
    "trainer would shuffle time steps: transpose the inputs in the model, so "
    "that samples come first";

/// Returns the first input with samples in its first dimension.
static std::optional<unsigned> findSampled(Signature forward, int64_t batch) {
  for (unsigned i = 0; i < forward.numInputs(); ++i) {
    auto type = tensorType(forward.getFunction().getArgument(i));
    if (type.getRank() > 0 && type.getDimSize(0) == batch)
      return i;
  }
  return std::nullopt;
}

/// Whether a tensor has no elements: what is computed from it is a constant,
/// which a later pass makes of it, and its strides mean nothing.
static bool hasEmptyTensor(func::FuncOp function) {
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() == 0;
  };
  return function
      .walk([&](Operation *op) {
        return llvm::any_of(op->getOperandTypes(), isEmpty) ||
                       llvm::any_of(op->getResultTypes(), isEmpty)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct CheckSamples : ingot::impl::CheckSamplesBase<CheckSamples> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAllAnalysesPreserved();
    func::FuncOp function = findFunction(module, kForwardName);
    auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
    if (!function || !batch || batch.getInt() < 2 || isLaterVariant(module) ||
        hasEmptyTensor(function))
      return;
    Signature forward(function);
    std::optional<unsigned> input = findSampled(forward, batch.getInt());
    if (!input)
      return;
    std::string dimension =
        "dimension 0 of input '" + forward.argumentName(*input).str() + "'";
    SampleFlow flow(function, batch.getInt());
    if (flow.getMixing()) {
      emitUserWarning(
          *flow.getMixing(),
          "combines samples of a batch: it computes along what is " +
              dimension + ", which counts samples",
          kHint);
      return;
    }
    // The output that a loss is computed from.
    for (unsigned i = 0; i < forward.getReturn()->getNumOperands(); ++i) {
      if (forward.resultState(i))
        continue;
      auto type = tensorType(forward.getReturn()->getOperand(i));
      if (flow.getResult(i).kind == SampleDependence::Whole &&
          type.getNumElements() > 1)
        emitUserWarning(
            function.getLoc(),
            "output '" + forward.resultName(i) +
                "' is not of one sample each: the model sums over " +
                dimension + ", which counts samples",
            kHint);
      return;
    }
  }

private:
  /// Variants differ in sizes only.
  static bool isLaterVariant(ModuleOp module) {
    auto parent = dyn_cast_or_null<ModuleOp>(module->getParentOp());
    return parent && module != *parent.getOps<ModuleOp>().begin();
  }
};
} // namespace
