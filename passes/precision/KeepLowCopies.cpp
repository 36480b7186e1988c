// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// KeepLowCopies: keeps 16-bit compute copies of weights, which are written with
// their masters; a bf16 copy is the upper half of its master.
//
// Assumes that all updates of states are in the step.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "passes/precision/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_KEEPLOWCOPIES
#include "passes/precision/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Returns a state that keeps its value from one step to the next unless the
/// optimizer changes it.
static bool isWeight(StateOp state) {
  return state.getRole() == Role::Parameter || state.getRole() == Role::Frozen;
}

/// Returns the casts of the weight to 16 bits, which each step would repeat.
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
  using KeepLowCopiesBase::KeepLowCopiesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    /// The compute copy of a weight, by weight and element type.
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
    for (auto [key, copy] : copies)
      splitMaster(cast<FlatSymbolRefAttr>(key.first), key.second, copy);
  }

private:
  /// Finds the weights whose new value comes from a bucket: with a copy, the
  /// step would have to wait for it.
  void findTravelling(Signature step) {
    for (const ResultList::Entry &entry : ResultList::of(step).entries)
      if (entry.state() && entry.value.getDefiningOp<BucketEnd>())
        travelling.insert(entry.state());
  }

  /// The copies with the states that they copy.
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
          remark::missed(state.getLoc(),
                         remarkOptions(getArgument(), "ComputeCopy"))
              << remark::metric("weight", state.getSymName())
              << remark::reason("its all-gather overlaps with the next forward "
                                "pass, which rounds it");
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

  SmallVector<func::FuncOp> functions() {
    return llvm::filter_to_vector(
        getOperation().getOps<func::FuncOp>(),
        [](func::FuncOp func) { return !func.isDeclaration(); });
  }

  /// Returns why the weight has to be stored whole; empty if it need not.
  StringRef whyWhole(FlatSymbolRefAttr weight, Type copy) {
    StateOp state = findState(getOperation(), weight);
    if (shards)
      return "ranks have shards of the weight, and of its copy";
    if (!copy.isBF16() || !state.getTensorType().getElementType().isF32())
      return "only bf16 is the upper half of fp32";
    bool isUpdated = false;
    for (func::FuncOp func : functions())
      for (const ResultList::Entry &entry :
           ResultList::of(Signature(func)).entries) {
        if (entry.state() != weight)
          continue;
        isUpdated = true;
        if (resolveViews(entry.value).getDefiningOp<BucketEnd>())
          return "ranks exchange the whole weight";
      }
    return isUpdated ? "" : "the weight is not trained";
  }

  /// Stores the copy and the lower half instead of the weight.
  void splitMaster(FlatSymbolRefAttr weight, Type element,
                   FlatSymbolRefAttr upper) {
    ModuleOp module = getOperation();
    StateOp state = findState(module, weight);
    auto options = remarkOptions(getArgument(), "SplitMaster");
    // One that is not trained needs no other half: what only its copy is read
    // of stays in the weights (MapStates).
    if (state.getRole() == Role::Frozen)
      return;
    if (StringRef reason = whyWhole(weight, element); !reason.empty()) {
      remark::missed(state.getLoc(), options)
          << remark::metric("weight", weight.getValue())
          << remark::reason("{0}", reason);
      return;
    }
    RankedTensorType type = state.getTensorType();
    RankedTensorType upperType = withElement(type, element);
    RankedTensorType lowerType =
        withElement(type, IntegerType::get(&getContext(), 16));
    FlatSymbolRefAttr lower =
        addState(module, (weight.getValue() + "/lower").str(), Role::LowerHalf,
                 lowerType);
    findState(module, lower).setOfAttr(weight);
    state.setHalvesAttr(ArrayAttr::get(&getContext(), {upper, lower}));
    for (func::FuncOp func : functions()) {
      Signature signature(func);
      ResultList results = ResultList::of(signature), updated;
      OpBuilder builder(signature.getReturn());
      for (const ResultList::Entry &entry : results.entries) {
        Location loc = entry.value.getLoc();
        if (entry.state() == weight) {
          updated.addState(
              upper, UpperHalfOp::create(builder, loc, upperType, entry.value));
          updated.addState(
              lower, LowerHalfOp::create(builder, loc, lowerType, entry.value));
        } else if (entry.state() != upper) {
          updated.add(entry.value, entry.attributes);
        }
      }
      updated.apply(signature);
      BlockArgument master = signature.findArgument(weight);
      if (!master)
        continue;
      BlockArgument high = signature.findArgument(upper);
      if (!high)
        high = signature.addState(upper, upperType);
      BlockArgument low = signature.addState(lower, lowerType);
      builder.setInsertionPointToStart(&func.getBody().front());
      master.replaceAllUsesWith(
          JoinHalvesOp::create(builder, state.getLoc(), type, high, low));
      signature.eraseUnused();
    }
    ++numSplit;
    remark::passed(state.getLoc(), options)
        << remark::metric("weight", weight.getValue())
        << remark::metric("bytes_saved", byteSize(upperType));
  }

  FlatSymbolRefAttr createCopy(StateOp state, RankedTensorType type) {
    std::string name =
        (state.getSymName() + "/" + nameOf(type.getElementType())).str();
    FlatSymbolRefAttr copy =
        addState(getOperation(), name, Role::LowCopy, type);
    findState(getOperation(), copy)
        .setOfAttr(FlatSymbolRefAttr::get(state.getSymNameAttr()));
    ++numCopies;
    remark::passed(state.getLoc(), remarkOptions(getArgument(), "ComputeCopy"))
        << remark::metric("weight", state.getSymName());
    return copy;
  }

  llvm::DenseSet<Attribute> travelling, explained;
};
} // namespace
