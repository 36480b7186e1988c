// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/host/DescribePruning.h"

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Pruning.h"

using namespace mlir;
using namespace ingot;

std::vector<runtime::PruningSpec> ingot::describePruning(ModuleOp module) {
  std::vector<runtime::PruningSpec> described;
  for (auto state : module.getOps<StateOp>()) {
    auto pruning = state->getAttrOfType<DictionaryAttr>(kPruningAttr);
    if (!pruning || state.getRole() != Role::Moment)
      continue;
    auto find = [&](StringRef name) {
      auto number = pruning.getAs<IntegerAttr>(name);
      return number ? std::optional(number.getInt()) : std::nullopt;
    };
    runtime::PruningSpec &spec = described.emplace_back();
    spec.weight = pruning.getAs<FlatSymbolRefAttr>("weight").getValue().str();
    spec.bits = state.getSymName().str();
    spec.share = pruning.getAs<FloatAttr>("share").getValueAsDouble();
    spec.blocks = *find("blocks");
    spec.outputDim = find("output_dim");
    spec.inputDim = find("input_dim");
    spec.rows = find("rows").value_or(1);
    spec.columns = find("columns").value_or(1);
    spec.group = find("group").value_or(0);
    spec.begin = *find("begin");
    spec.end = *find("end");
    spec.every = *find("every");
  }
  return described;
}
