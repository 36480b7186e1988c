// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// MergeVariants: the functions of all variants of a model in one module.
//
// Assumes that nothing about their states is decided yet.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/encoding/EncodingOps.h"
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

/// The shapes of the inputs of the training step.
static SmallVector<ArrayRef<int64_t>> inputShapes(func::FuncOp func) {
  Signature signature(func);
  SmallVector<ArrayRef<int64_t>> shapes;
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto shape = cast<RankedTensorType>(argument.getType()).getShape();
    if (!signature.argumentState(i) && !shape.empty())
      shapes.push_back(shape);
  }
  return shapes;
}

static int64_t getBatch(ModuleOp module) {
  auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
  return batch ? batch.getInt() : 0;
}

/// Fails where the variant disagrees with the others on the type of a state,
/// and where neither the batch nor the shapes of samples tell it from another.
static LogicalResult checkVariant(ModuleOp module, ModuleOp variant,
                                  StringRef name) {
  MLIRContext *context = module.getContext();
  for (auto state : variant.getOps<StateOp>()) {
    auto known = module.lookupSymbol<StateOp>(state.getSymName());
    if (!known || known.getTensorType() != state.getTensorType() ||
        known.getShard() != state.getShard() ||
        known.getHalves() != state.getHalves() ||
        known->getAttr(kEncodingAttr) != state->getAttr(kEncodingAttr))
      return emitUserError(state.getLoc(),
                           "the type or the use of this state depends on " +
                               name,
                           "give --dim one size: variants share their states");
  }
  auto step = variant.lookupSymbol<func::FuncOp>(
      (kTrainStepName + "[" + name + "]").str());
  for (auto other : module.getOps<func::FuncOp>())
    if (step && other.getName().starts_with(kTrainStepName) &&
        inputShapes(other) == inputShapes(step))
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
    SmallVector<int64_t> batches;
    for (ModuleOp variant : variants) {
      std::optional<StringRef> name = variant.getSymName();
      if (!name) {
        variant.emitError("a variant has to have a name");
        return signalPassFailure();
      }
      names.push_back(builder.getStringAttr(*name));
      batches.push_back(getBatch(variant));
      auto rename = [&](StringRef function) {
        return (function + "[" + *name + "]").str();
      };
      for (auto func : variant.getOps<func::FuncOp>())
        func.setName(rename(func.getName()));
      variant.walk(
          [&](RepeatOp loop) { loop.setBody(rename(loop.getBody())); });
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
    if (!batches.empty() && !llvm::all_equal(batches))
      module->setAttr(kBatchesAttr, builder.getDenseI64ArrayAttr(batches));
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
