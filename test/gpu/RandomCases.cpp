// SPDX-License-Identifier: Apache-2.0

#include "test/gpu/RandomCases.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/precision/Passes.h"
#include "passes/targets/cuda/Passes.h"
#include "test/random-graphs/RandomGraph.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;

/// Assigns a precision as the pipeline for GPUs does; returns whether anything
/// is computed in it.
static llvm::Expected<bool> assignPrecision(ModuleOp module,
                                            const std::string &precision) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.addNestedPass<func::FuncOp>(
      createAssignPrecision({precision, {}, {}}));
  passes.addNestedPass<func::FuncOp>(createRoundEpilogues());
  if (failed(passes.run(module)))
    return llvm::createStringError("no precision could be assigned");
  return hasHalves(module);
}

llvm::Expected<OwningOpRef<ModuleOp>>
ingot::makeRandomCases(MLIRContext &context, uint64_t &first, int64_t count,
                       const std::string &precision) {
  Builder builder(&context);
  bool isHalf = precision != "fp32";
  int64_t size = isHalf ? 5 : 4;
  constexpr double tolerance = 1e-3;
  OwningOpRef<ModuleOp> all = ModuleOp::create(builder.getUnknownLoc());
  for (int64_t made = 0; made < count; ++first) {
    RandomGraph graph =
        makeRandomGraph(context, first, size, builder.getF32Type(),
                        // Several vectors, blocks and pieces.
                        /*stretch=*/first % 2 ? 700 : 1);
    if (!isStable(graph, /*noise=*/1e-6, tolerance))
      continue;
    if (isHalf) {
      auto isUsed = assignPrecision(*graph.module, precision);
      if (!isUsed)
        return isUsed.takeError();
      if (!*isUsed)
        continue;
    }
    auto function = graph.module->lookupSymbol<func::FuncOp>("f");
    Block &body = function.getBody().front();
    OpBuilder inside = OpBuilder::atBlockBegin(&body);
    for (auto [argument, value] :
         llvm::zip(body.getArguments(), graph.arguments))
      argument.replaceAllUsesWith(
          ConstantOp::create(inside, function.getLoc(), value.toAttribute()));
    llvm::BitVector unused(body.getNumArguments(), true);
    if (failed(function.eraseArguments(unused)))
      return llvm::createStringError("an argument cannot be erased");
    function.setName("test_" + std::to_string(first));
    if (isHalf)
      function->setAttr(kRoundsAttr, builder.getUnitAttr());
    else
      function->setAttr("ingot.tolerance", builder.getF64FloatAttr(tolerance));
    function->remove();
    all->push_back(function);
    ++made;
  }
  return all;
}
