// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// RoundEpilogues: inserts the roundings that cuBLASLt epilogues perform.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/Remarks.h"
#include "mlir/IR/IRMapping.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/epilogues/LibraryEpilogue.h"
#include "llvm/ADT/StringExtras.h"

namespace ingot {
#define GEN_PASS_DEF_ROUNDEPILOGUES
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Returns `value`, rounded to the element type and converted back.
static Value roundTo(OpBuilder &builder, Value value, Type element) {
  Value rounded = castTo(builder, value.getLoc(), value, element);
  return castTo(builder, value.getLoc(), rounded,
                tensorType(value).getElementType());
}

namespace {

struct RoundEpilogues : ingot::impl::RoundEpiloguesBase<RoundEpilogues> {
  using RoundEpiloguesBase::RoundEpiloguesBase;

  void runOnOperation() override {
    SmallVector<EpilogueAnchor> calls(getOperation().getOps<EpilogueAnchor>());
    for (Operation *call : calls) {
      roundBiasGradients(call);
      Type element = tensorType(call->getResult(0)).getElementType();
      if (element.getIntOrFloatBitWidth() != 16)
        continue;
      LibraryEpilogueRules rules;
      auto isStored = [](Operation *) { return false; };
      rules.isStored = isStored;
      rules.wideBias = true;
      StringRef reason;
      std::optional<LibraryEpilogue> found =
          matchLibraryEpilogue(call, rules, reason);
      if (found && found->activation != Activation::GeluGrad &&
          !isKept({found->sum, found->activated}))
        round(*found, element);
    }
  }

private:
  /// Returns whether the user excluded one of the values from rounding.
  bool isKept(ArrayRef<Value> values) const {
    if (keepFp32.empty())
      return false;
    auto matches = [&](Value value) {
      return llvm::any_of(nodeNames(value.getLoc()),
                          [&](StringRef name) { return keepFp32.match(name); });
    };
    bool isNamed = llvm::any_of(values, matches);
    if (isNamed)
      remark::missed(values.front().getLoc(),
                     remarkOptions(getArgument(), "RoundedEpilogue"))
          << remark::reason("excluded by keep-fp32");
    return isNamed;
  }

  /// Reports the values that are rounded.
  void note(Location loc, ArrayRef<StringRef> rounded) {
    ++numRounded;
    remark::passed(loc, remarkOptions(getArgument(), "RoundedEpilogue"))
        << remark::metric("rounded", llvm::join(rounded, " "));
  }

  /// The gradient of a bias is a sum over an operand of the matmul that
  /// computes the gradient of the weight.
  void roundBiasGradients(Operation *call) {
    for (Operation *sum : findWideBiasGradients(call)) {
      if (isKept({sum->getResult(0), call->getResult(0)}))
        continue;
      OpBuilder builder(sum);
      sum->setOperand(
          0, roundTo(builder, sum->getOperand(0),
                     tensorType(call->getOperand(0)).getElementType()));
      note(sum->getLoc(), {"bias-gradient"});
    }
  }

  void round(const LibraryEpilogue &epilogue, Type element) {
    SmallVector<StringRef> rounded;
    OpBuilder builder(&getContext());
    if (epilogue.bias &&
        tensorType(epilogue.bias).getElementType() != element) {
      auto broadcast = epilogue.biasUse->get().getDefiningOp<BroadcastOp>();
      builder.setInsertionPoint(broadcast);
      Value vector = roundTo(builder, epilogue.bias, element);
      // Other readers of the broadcast bias are not rounded.
      Operation *copy = builder.clone(*broadcast);
      copy->setOperand(0, vector);
      epilogue.biasUse->set(copy->getResult(0));
      if (broadcast.use_empty())
        broadcast.erase();
      rounded.push_back("bias");
    }
    if (epilogue.activation == Activation::Relu && readRounded(epilogue))
      rounded.push_back("derivative");
    if (epilogue.activation == Activation::Gelu && epilogue.auxiliary) {
      roundAuxiliary(epilogue, element);
      rounded.push_back("pre-activation");
    }
    if (!rounded.empty())
      note(epilogue.sum.getLoc(), rounded);
  }

  /// Comparisons of ReLU's result, its derivative, read the stored result. Only
  /// numbers that round to zero make a difference.
  static bool readRounded(const LibraryEpilogue &epilogue) {
    Operation *rounding = epilogue.result.getDefiningOp();
    SmallVector<OpOperand *> reads;
    for (OpOperand &use : epilogue.activated.getUses())
      if (isa<CompareOp>(use.getOwner()))
        reads.push_back(&use);
    if (reads.empty())
      return false;
    rounding->moveAfter(epilogue.activated.getDefiningOp());
    OpBuilder builder(rounding->getContext());
    builder.setInsertionPointAfter(rounding);
    Value wide = castTo(builder, rounding->getLoc(), epilogue.result,
                        tensorType(epilogue.activated).getElementType());
    for (OpOperand *read : reads)
      read->set(wide);
    return true;
  }

  /// All other readers of the sum read the rounded one.
  static void roundAuxiliary(const LibraryEpilogue &epilogue, Type element) {
    Operation *last = epilogue.activated.getDefiningOp();
    DenseSet<Operation *> activation = findActivation(epilogue);
    SmallVector<Operation *> chain(activation.begin(), activation.end());
    llvm::sort(chain, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    OpBuilder builder(last);
    builder.setInsertionPointAfterValue(epilogue.sum);
    Value wide = roundTo(builder, epilogue.sum, element);
    Operation *rounding = wide.getDefiningOp()->getOperand(0).getDefiningOp();
    auto isOutside = [&](OpOperand &use) {
      return !activation.contains(use.getOwner()) && use.getOwner() != rounding;
    };
    IRMapping again;
    again.map(epilogue.sum, wide);
    for (Operation *op : chain) {
      if (op == last)
        continue;
      builder.setInsertionPointAfter(op);
      Operation *copy = builder.clone(*op, again);
      op->getResult(0).replaceUsesWithIf(copy->getResult(0), isOutside);
    }
    Value(epilogue.sum).replaceUsesWithIf(wide, [&](OpOperand &use) {
      return isOutside(use) && !isa<CastOp>(use.getOwner());
    });
  }
};

} // namespace
