// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MergeVariants: the functions of all variants of a model in one module.
//
// Assumes that nothing about their states is decided yet.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/schedule/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_MERGEVARIANTS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// The shapes of one sample of each input of the training step.
static SmallVector<ArrayRef<int64_t>> sampleShapes(func::FuncOp func) {
  Signature signature(func);
  SmallVector<ArrayRef<int64_t>> shapes;
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto shape = cast<RankedTensorType>(argument.getType()).getShape();
    if (!signature.argumentState(i) && !shape.empty())
      shapes.push_back(shape.drop_front());
  }
  return shapes;
}

/// Fails where the variant disagrees with the others on the type of a state or
/// on the batch, and where samples could not be told apart by their shapes.
static LogicalResult checkVariant(ModuleOp module, ModuleOp variant,
                                  StringRef name) {
  MLIRContext *context = module.getContext();
  if (module->getAttr(kBatchAttr) != variant->getAttr(kBatchAttr))
    return emitOptionError(
        context, "dim", name + " changes the batch",
        "give the batch one size; compile another trainer for "
        "data of other sizes");
  for (auto state : variant.getOps<StateOp>()) {
    auto known = module.lookupSymbol<StateOp>(state.getSymName());
    if (!known || known.getTensorType() != state.getTensorType() ||
        known.getShard() != state.getShard() ||
        known.getHalves() != state.getHalves())
      return emitUserError(state.getLoc(),
                           "the type or the use of this state depends on " +
                               name,
                           "give --dim one size: variants share their states");
  }
  auto step = variant.lookupSymbol<func::FuncOp>(
      (kTrainStepName + "[" + name + "]").str());
  for (auto other : module.getOps<func::FuncOp>())
    if (step && other.getName().starts_with(kTrainStepName) &&
        sampleShapes(other) == sampleShapes(step))
      return emitOptionError(context, "dim",
                             "with " + name +
                                 " samples have the same shapes as without",
                             "give sizes that distinguish the data");
  return success();
}

namespace {
struct MergeVariants : ingot::impl::MergeVariantsBase<MergeVariants> {
  using MergeVariantsBase::MergeVariantsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto variants = llvm::to_vector(module.getOps<ModuleOp>());
    Builder builder(module.getContext());
    SmallVector<Attribute> names;
    for (ModuleOp variant : variants) {
      std::optional<StringRef> name = variant.getSymName();
      if (!name) {
        variant.emitError("a variant has to have a name");
        return signalPassFailure();
      }
      names.push_back(builder.getStringAttr(*name));
      for (auto func : variant.getOps<func::FuncOp>())
        func.setName((func.getName() + "[" + *name + "]").str());
      if (variant == variants.front())
        takeOver(module, variant);
      else if (failed(checkVariant(module, variant, *name)))
        return signalPassFailure();
      Block *body = module.getBody();
      for (auto func :
           llvm::make_early_inc_range(variant.getOps<func::FuncOp>()))
        func->moveBefore(body, body->end());
      variant.erase();
    }
    if (!names.empty())
      module->setAttr(kVariantsAttr, builder.getArrayAttr(names));
  }

  /// The first variant has the states and attributes of all.
  static void takeOver(ModuleOp module, ModuleOp variant) {
    for (NamedAttribute attr : variant->getDiscardableAttrs())
      module->setAttr(attr.getName(), attr.getValue());
    Block *body = module.getBody();
    body->getOperations().splice(body->end(),
                                 variant.getBody()->getOperations());
  }
};
} // namespace
