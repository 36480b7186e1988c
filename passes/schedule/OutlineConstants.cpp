// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// OutlineConstants: turns constants other than splats into states, which have
// memory.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "passes/schedule/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_OUTLINECONSTANTS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct OutlineConstants : ingot::impl::OutlineConstantsBase<OutlineConstants> {
  using OutlineConstantsBase::OutlineConstantsBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions =
        llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : functions)
      if (!func.isDeclaration())
        outline(func);
  }

  void outline(func::FuncOp func) {
    OpBuilder builder(func);
    Signature signature(func);
    for (auto constant :
         llvm::make_early_inc_range(func.getBody().getOps<ConstantOp>())) {
      StateOp &state = states[constant.getValue()];
      if (!state) {
        std::string name = "constant/" + std::to_string(states.size() - 1);
        state = StateOp::create(builder, constant.getLoc(), name, Role::Frozen,
                                constant.getType(), constant.getValue());
      }
      auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
      BlockArgument argument = signature.findArgument(symbol);
      if (!argument)
        argument = signature.addState(symbol, constant.getType());
      constant.replaceAllUsesWith(Value(argument));
      constant.erase();
    }
  }

  DenseMap<Attribute, StateOp> states;
};

} // namespace
