//===----------------------------------------------------------------------===//
//
// KeepLowCopies: weights in low precision, written with their masters.
//
// Assumes that all updates of states are in the step.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Builders.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "mlir/IR/Remarks.h"
#include "passes/precision/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_KEEPLOWCOPIES
#include "passes/precision/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// A state that keeps its value from one step to the next unless the optimizer
/// changes it.
static bool isWeight(StateOp state) {
  return state.getRole() == Role::Parameter || state.getRole() == Role::Frozen;
}

/// Casts of the weight to 16 bits: what a step would do over and over.
static SmallVector<CastOp> castsOf(BlockArgument weight) {
  SmallVector<CastOp> casts;
  for (Operation *user : weight.getUsers())
    if (auto cast = dyn_cast<CastOp>(user)) {
      auto element = dyn_cast<FloatType>(cast.getType().getElementType());
      if (element && element.getWidth() == 16)
        casts.push_back(cast);
    }
  return casts;
}

static StringRef nameOf(Type element) {
  return element.isBF16() ? "bf16" : "fp16";
}

namespace {
struct KeepLowCopies : ingot::impl::KeepLowCopiesBase<KeepLowCopies> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    /// The copy of a weight, by weight and element type.
    llvm::MapVector<std::pair<Attribute, Type>, FlatSymbolRefAttr> copies;
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isDeclaration())
        findTravelling(Signature(func));
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isDeclaration())
        replaceCasts(func, copies);

    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isDeclaration())
        updateCopies(Signature(func), copies);
  }

private:
  /// Finds the weights whose new value comes out of a bucket: a copy would have
  /// the step wait for it.
  void findTravelling(Signature step) {
    for (const ResultList::Entry &entry : ResultList::of(step).entries)
      if (entry.state() && entry.value.getDefiningOp<BucketEnd>())
        travelling.insert(entry.state());
  }

  /// With what they copy.
  template <typename Copies>
  static void updateCopies(Signature step, const Copies &copies) {
    ResultList results = ResultList::of(step), updated;
    OpBuilder builder(step.getReturn());
    for (auto [key, copy] : copies)
      for (const ResultList::Entry &entry : results.entries)
        if (entry.state() == key.first)
          updated.addState(copy, castTo(builder, entry.value.getLoc(),
                                        entry.value, key.second));
    if (updated.entries.empty())
      return;
    results.entries.append(updated.entries);
    results.apply(step);
  }

  template <typename Copies>
  void replaceCasts(func::FuncOp func, Copies &copies) {
    Signature signature(func);
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      FlatSymbolRefAttr weight = signature.argumentState(i);
      StateOp state = weight ? findState(getOperation(), weight) : StateOp();
      if (!state || !isWeight(state))
        continue;
      if (travelling.contains(weight)) {
        if (explained.insert(weight).second)
          remark::missed(
              state.getLoc(),
              remark::RemarkOpts::name("low-copy").category(getArgument()))
              << remark::metric("Weight", state.getSymName())
              << remark::reason("its new value travels until the next step "
                                "needs it: rounded there");
        continue;
      }
      llvm::SmallDenseMap<Type, Value> arguments;
      for (CastOp cast : castsOf(func.getArgument(i))) {
        RankedTensorType type = cast.getType();
        Type element = type.getElementType();
        FlatSymbolRefAttr &copy = copies[{weight, element}];
        if (!copy)
          copy = createCopy(state, type);
        Value &argument = arguments[element];
        if (!argument)
          argument = signature.addState(copy, type);
        cast.replaceAllUsesWith(argument);
        cast.erase();
      }
    }
    signature.eraseUnused();
  }

  FlatSymbolRefAttr createCopy(StateOp state, RankedTensorType type) {
    std::string name =
        (state.getSymName() + "/" + nameOf(type.getElementType())).str();
    FlatSymbolRefAttr copy =
        addState(getOperation(), name, Role::LowCopy, type);
    findState(getOperation(), copy)
        .setOfAttr(FlatSymbolRefAttr::get(state.getSymNameAttr()));
    ++numCopies;
    remark::passed(state.getLoc(),
                   remark::RemarkOpts::name("low-copy").category(getArgument()))
        << remark::metric("Weight", state.getSymName());
    return copy;
  }

  llvm::DenseSet<Attribute> travelling, explained;
};
} // namespace
