// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A layer that ranks have parts of, forward and backward, in virtual time: with
// pieces and exchanges in flight, for many rates of what computes and of the
// link between ranks.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/target/Machine.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Registration.h"
#include "passes/cost/Cost.h"
#include "passes/parallel/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/streams/ExchangeOrder.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace ingot;

namespace {

constexpr llvm::StringLiteral kLayer = R"(
module attributes {ingot.mesh = {tensor = 2}, ingot.target = #ingot.target<"cpu">} {
func.func @train_step(%x: tensor<1024x512xf32> {ingot.name = "x", ingot.kind = "data"},
    %w: tensor<512x512xf32> {ingot.name = "w", ingot.kind = "data"},
    %u: tensor<512x512xf32> {ingot.name = "u", ingot.kind = "data"})
    -> (tensor<1024x512xf32> {ingot.name = "dx"}, tensor<512x512xf32> {ingot.name = "dw"},
        tensor<512x512xf32> {ingot.name = "du"}) {
  %h = ingot.matmul %x, %w : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %p = ingot.matmul %h, %u : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %y = ingot.all_reduce sum %p over [tensor] : tensor<1024x512xf32>
  %g = ingot.mul %y, %x : tensor<1024x512xf32>
  %du = ingot.matmul %h transposed, %g : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<512x512xf32>
  %gh = ingot.matmul %g, %u transposed : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %q = ingot.matmul %gh, %w transposed : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %s = ingot.all_reduce sum %q over [tensor] : tensor<1024x512xf32>
  %dx = ingot.add %s, %g : tensor<1024x512xf32>
  %dw = ingot.matmul %x transposed, %gh : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<512x512xf32>
  return %dx, %dw, %du : tensor<1024x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}
})";

/// Plays the step as it is; exchanges in regions are in flight.
ExchangeTimes play(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  StepGraph graph(Signature(function), *Target::of(function));
  NodeSeconds times(graph, Machine::of(module));
  llvm::BitVector inFlight(graph.getNodes().size());
  for (auto [i, node] : llvm::enumerate(graph.getNodes()))
    if (times.isExchange[i] && node.side >= 0)
      inFlight.set(static_cast<unsigned>(i));
  return playExchanges(graph, graph.getProgramOrder(), times, inFlight);
}

TEST(Overlap, HidesHalfAndNeverLengthens) {
  DialectRegistry registry;
  registerIngotDialects(registry);
  registerIngotTargets();
  MLIRContext context(registry);
  int hidden = 0;
  for (int link = 0; link < 8; ++link)
    for (int rate = 0; rate < 8; ++rate) {
      auto module = parseSourceString<ModuleOp>(kLayer, &context);
      ASSERT_TRUE(module);
      Machine machine;
      machine.linkBandwidth = 1e8 * std::pow(3.0, link);
      machine.linkSeconds = 1e-6;
      machine.matmulF32 = 1e10 * std::pow(2.5, rate);
      machine.memoryBandwidth = machine.cacheBandwidth = 1e12;
      machine.launchSeconds = 1e-6;
      (*module)->setAttr(kMachineAttr, machine.toAttr(&context));
      ExchangeTimes before = play(*module);
      PassManager passes(&context);
      passes.addPass(createSplitExchanges());
      passes.addNestedPass<func::FuncOp>(createOverlapExchanges());
      ASSERT_TRUE(succeeded(passes.run(*module)));
      ExchangeTimes after = play(*module);
      std::string what = "bandwidth " + std::to_string(machine.linkBandwidth) +
                         ", rate " + std::to_string(machine.matmulF32);
      EXPECT_LE(after.step, before.step * (1 + 1e-9)) << what;
      // Of two exchanges and six equal matmuls.
      if (before.exchange / 2 > before.compute / 6)
        continue;
      ++hidden;
      EXPECT_LE(after.step - before.compute,
                before.getExposed() / 2 + 1e-9 * before.step)
          << what;
    }
  EXPECT_GT(hidden, 16);
}

} // namespace
