// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// CheckTokens: which token of a sequence a language model compares with which.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "passes/verify/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_CHECKTOKENS
#include "passes/verify/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Whether the input holds sequences of more than one token each.
static bool holdsTokens(Signature forward, unsigned input) {
  auto type = tensorType(forward.getFunction().getArgument(input));
  return isa<IntegerType>(type.getElementType()) &&
         !type.getElementType().isInteger(1) && type.getRank() == 2 &&
         type.getDimSize(1) > 1;
}

/// Whether all that is read of a value [samples, tokens] begins at the second
/// token.
static bool losesFirst(Value value) {
  constexpr int64_t dim = 1;
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [](Operation *user) {
           if (auto slice = dyn_cast<SliceOp>(user))
             return slice.getStarts()[dim] > 0 ||
                    (slice.getStrides()[dim] == 1 &&
                     losesFirst(slice.getResult()));
           if (auto pad = dyn_cast<PadOp>(user))
             return pad.getLow()[dim] == 0 && pad.getInterior()[dim] == 0 &&
                    losesFirst(pad.getResult());
           return user->hasTrait<OpTrait::Elementwise>() &&
                  user->getNumResults() == 1 && losesFirst(user->getResult(0));
         });
}

namespace {
struct CheckTokens : ingot::impl::CheckTokensBase<CheckTokens> {
  using CheckTokensBase::CheckTokensBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAllAnalysesPreserved();
    func::FuncOp function = findFunction(module, kForwardName);
    if (!function)
      return;
    Signature forward(function);
    SmallVector<StringRef> shifted;
    std::optional<unsigned> tokens;
    for (unsigned i = 0; i < forward.numInputs(); ++i) {
      if (!holdsTokens(forward, i))
        continue;
      if (losesFirst(function.getArgument(i)))
        shifted.push_back(forward.argumentName(i));
      else if (!tokens)
        tokens = i;
    }
    if (!tokens)
      return;
    if (!shifted.empty())
      noteShifted(shifted);
    // The loss of the graph is compared with nothing.
    if (!StringRef(loss).starts_with("output:"))
      checkPositions(forward, *tokens);
  }

private:
  void noteShifted(ArrayRef<StringRef> names) {
    Builder builder(&getContext());
    getOperation()->setAttr(kShiftedLabelsAttr, builder.getStrArrayAttr(names));
    getContext().getDiagEngine().emit(getOperation().getLoc(),
                                      DiagnosticSeverity::Note)
        << "the model shifts '" << names.front()
        << "' itself, as Hugging Face's do: give it the tokens of the input, "
           "not the ones that follow, as the trainer does with files of tokens";
  }

  /// An output of one position, as of a model that is used to write text.
  void checkPositions(Signature forward, unsigned tokens) {
    for (unsigned i = 0; i < forward.getReturn()->getNumOperands(); ++i) {
      if (forward.resultState(i))
        continue;
      auto type = tensorType(forward.getReturn()->getOperand(i));
      if (isa<FloatType>(type.getElementType()) && type.getRank() == 3 &&
          type.getDimSize(1) == 1 && type.getDimSize(2) > 1) {
        auto taken = tensorType(forward.getFunction().getArgument(tokens));
        emitUserWarning(
            getOperation().getLoc(),
            "output '" + forward.resultName(i) +
                "' is of one position of each sequence, and input '" +
                forward.argumentName(tokens) + "' has " +
                Twine(taken.getDimSize(1)) +
                ": labels are one token of a sample, and files of tokens do "
                "not fit",
            "export the model with targets, as in export(model, (tokens, "
            "targets)), and name its loss with --loss output:NAME, or without "
            "the slice of the last position");
      }
      return;
    }
  }
};
} // namespace
