// SPDX-License-Identifier: Apache-2.0

#include "passes/Variants.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace ingot;

std::vector<Variant>
ingot::listVariants(const std::map<std::string, std::vector<int64_t>> &dims) {
  std::vector<Variant> variants(1);
  for (const auto &[dim, sizes] : dims) {
    std::vector<Variant> longer;
    for (const Variant &variant : variants)
      for (int64_t size : sizes) {
        Variant &next = longer.emplace_back(variant);
        next.dims[dim] = size;
        if (sizes.size() > 1)
          next.name +=
              (next.name.empty() ? "" : ",") + dim + "=" + std::to_string(size);
      }
    variants = std::move(longer);
  }
  return variants;
}

void ingot::nameVariant(ModuleOp module, StringRef name) {
  for (auto func : module.getOps<func::FuncOp>())
    func.setName((func.getName() + "[" + name + "]").str());
  Builder builder(module.getContext());
  module->setAttr(kVariantsAttr,
                  builder.getArrayAttr(builder.getStringAttr(name)));
}

static StringRef lastVariant(ModuleOp module) {
  return cast<StringAttr>(
             module->getAttrOfType<ArrayAttr>(kVariantsAttr).getValue().back())
      .getValue();
}

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

LogicalResult ingot::addVariant(ModuleOp module, ModuleOp from) {
  StringRef name = lastVariant(from);
  Location where = NameLoc::get(StringAttr::get(module.getContext(), "--dim"));
  if (module->getAttr(kBatchAttr) != from->getAttr(kBatchAttr))
    return emitUserError(where, name + " changes the batch",
                         "give the batch one size; compile another trainer for "
                         "data of other sizes");
  for (auto state : from.getOps<StateOp>()) {
    auto known = module.lookupSymbol<StateOp>(state.getSymName());
    if (!known || known.getTensorType() != state.getTensorType() ||
        known.getShard() != state.getShard() ||
        known.getHalves() != state.getHalves())
      return emitUserError(state.getLoc(),
                           "the type or the use of this state depends on " +
                               name,
                           "give --dim one size: variants share their states");
  }
  auto step = from.lookupSymbol<func::FuncOp>(
      (kTrainStepName + "[" + name + "]").str());
  for (auto other : module.getOps<func::FuncOp>())
    if (step && other.getName().starts_with(kTrainStepName) &&
        sampleShapes(other) == sampleShapes(step))
      return emitUserError(
          where, "with " + name + " samples have the same shapes as without",
          "give sizes that distinguish the data");
  for (auto func : llvm::make_early_inc_range(from.getOps<func::FuncOp>()))
    func->moveBefore(module.getBody(), module.getBody()->end());
  SmallVector<Attribute> names(
      module->getAttrOfType<ArrayAttr>(kVariantsAttr).getValue());
  names.push_back(StringAttr::get(module.getContext(), name));
  module->setAttr(kVariantsAttr, ArrayAttr::get(module.getContext(), names));
  return success();
}
