// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MapStates: leaves states that no step changes in the weights.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "passes/schedule/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {
#define GEN_PASS_DEF_MAPSTATES
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct MapStates : ingot::impl::MapStatesBase<MapStates> {
  using MapStatesBase::MapStatesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    symbols.emplace(module);
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isDeclaration())
        findUses(Signature(func));
    for (auto state : module.getOps<StateOp>())
      if (getEncoding(state))
        state->setAttr(exec::kHomeAttr,
                       StringAttr::get(&getContext(), "encoded"));
      else if (isConstant(state))
        place(state);
  }

private:
  void findUses(Signature signature) {
    func::FuncOp func = signature.getFunction();
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
      if (FlatSymbolRefAttr state = signature.argumentState(i))
        read.insert(state);
    for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
      if (FlatSymbolRefAttr state = signature.resultState(i))
        written.insert(state);
  }

  /// Returns the state that the weights have the value of, in this form or
  /// another.
  StateOp findOriginal(StateOp state) {
    return state.getRole() == Role::LowCopy
               ? symbols->lookup<StateOp>(*state.getOf())
               : state;
  }

  /// Whether the weights have the state, and no step changes it.
  bool isConstant(StateOp state) {
    StateOp original = findOriginal(state);
    return original && original.getRole() == Role::Frozen &&
           !splatValue(original) &&
           !written.contains(FlatSymbolRefAttr::get(state.getSymNameAttr()));
  }

  /// Whether a rank does not have all of the state, or of what it copies.
  bool isInParts(StateOp state) {
    return state.getShard() || state.getWhole() ||
           findOriginal(state).getWhole();
  }

  void place(StateOp state) {
    auto options = remarkOptions(getArgument(), "FrozenState");
    int64_t bytes = byteSize(state.getTensorType());
    auto setHome = [&](StringRef home) {
      state->setAttr(exec::kHomeAttr, StringAttr::get(&getContext(), home));
      remark::passed(state.getLoc(), options)
          << remark::metric("state", state.getSymName())
          << remark::metric("home", home) << remark::metric("bytes", bytes);
    };
    if (state.getRole() == Role::Frozen && !isInParts(state) &&
        !read.contains(FlatSymbolRefAttr::get(state.getSymNameAttr()))) {
      ++numInFile;
      return setHome("file");
    }
    StringRef reason = whyNotMapped(state);
    if (reason.empty() && bytes >= leastBytes) {
      ++numMapped;
      return setHome("mapped");
    }
    if (bytes >= leastBytes)
      remark::missed(state.getLoc(), options)
          << remark::metric("state", state.getSymName())
          << remark::reason("{0}", reason);
  }

  /// Returns why the state needs memory of its own, whatever its size; empty if
  /// it does not.
  StringRef whyNotMapped(StateOp state) {
    if (isInParts(state))
      return "each rank has its part of it";
    if (Target::of(state)->findDevice())
      return "the device has memory of its own";
    if (!getOperation()->hasAttr(exec::kWeightsFileAttr))
      return "the weights are in the trainer, not in a file beside it";
    return "";
  }

  std::optional<SymbolTable> symbols;
  llvm::DenseSet<Attribute> read, written;
};

} // namespace
