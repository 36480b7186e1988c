// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/report/GraphDescription.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace ingot;
using namespace llvm;
using namespace mlir;

namespace {
/// A node of the model.
struct Node {
  std::string name, op;
  SmallSetVector<int64_t, 4> inputs;
};
} // namespace

json::Array ingot::describeGraph(ModuleOp module) {
  std::vector<Node> nodes;
  StringMap<int64_t> byName;
  llvm::DenseMap<Operation *, int64_t> places;
  auto function = module.lookupSymbol<func::FuncOp>("forward");
  if (!function || function.isExternal())
    return {};
  for (Operation &op : function.getBody().front().without_terminator()) {
    SmallVector<std::string> names = nodeNames(op.getLoc(), /*most=*/1);
    if (names.empty() || op.getNumOperands() == 0)
      continue;
    auto [found, isNew] =
        byName.try_emplace(names.front(), static_cast<int64_t>(nodes.size()));
    if (isNew)
      nodes.push_back({names.front(), "", {}});
    int64_t place = found->second;
    Node &node = nodes[static_cast<size_t>(place)];
    places[&op] = place;
    // Several operations may come of a node; the last one has its result.
    node.op = op.getName().stripDialect().str();
    for (mlir::Value operand : op.getOperands()) {
      auto input = places.find(operand.getDefiningOp());
      if (input != places.end() && input->second != place)
        node.inputs.insert(input->second);
    }
  }
  json::Array described;
  for (const Node &node : nodes) {
    json::Array inputs;
    for (int64_t input : node.inputs)
      inputs.push_back(input);
    described.push_back(json::Object{
        {"name", node.name}, {"op", node.op}, {"inputs", std::move(inputs)}});
  }
  return described;
}
