// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A step whose ranks have shards of parameters, in virtual time, for many rates
// of what computes and of the link between ranks.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/target/Target.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "passes/Registration.h"
#include "passes/plan/Replay.h"
#include "passes/targets/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace ingot;

constexpr int kLayers = 8, kWidth = 256;

/// A tower of equal layers.
static std::string makeTower(int layers, int width) {
  std::string type = llvm::formatv("tensor<{0}x{0}xf32>", width);
  std::string rows = llvm::formatv("tensor<64x{0}xf32>", width);
  std::string states, arguments, body, value = "%x";
  for (int i = 0; i < layers; ++i) {
    states += llvm::formatv(
        "ingot.state parameter @w{0} : {1} = dense<0.01> : {1}\n", i, type);
    arguments += llvm::formatv(", %w{0}: {1} {{ingot.state = @w{0}}", i, type);
    body +=
        llvm::formatv("%p{0} = ingot.matmul {1}, %w{0} : ({2}, {3}) -> {2}\n"
                      "%t{0} = ingot.tanh %p{0} : {2}\n",
                      i, value, rows, type);
    value = llvm::formatv("%t{0}", i);
  }
  return states +
         llvm::formatv("func.func @forward(%x: {0} {{ingot.name = \"x\", "
                       "ingot.kind = \"data\"}{1}) -> ({0} {{ingot.name = "
                       "\"y\"}) {{\n{2}return {3} : {0}\n}\n",
                       rows, arguments, body, value)
             .str();
}

static Trace compileStep(llvm::StringRef words) {
  DialectRegistry registry;
  registerIngotDialects(registry);
  registerIngotTargets();
  MLIRContext context(registry);
  auto module =
      parseSourceString<ModuleOp>(makeTower(kLayers, kWidth), &context);
  PipelineOptions options;
  EXPECT_TRUE(module && succeeded(options.parseFromString(words)));
  auto target = chooseTarget(options.getTargetSpec(options.arch));
  EXPECT_TRUE(bool(target));
  PassManager passes(&context);
  buildGraphPipeline(passes, options, **target);
  buildPlacementPipeline(passes, options);
  EXPECT_TRUE(succeeded(passes.run(*module)));
  return readTrace(*module);
}

TEST(ShardedParameters, StepTakesTheLongerOfTwo) {
  Trace trace =
      compileStep("loss=mse optimizer=sgd data-parallel zero=3 bucket-mb=0.1");
  double own = Trace::getComputeSeconds(trace.step, /*isShared=*/false) +
               Trace::getComputeSeconds(trace.step, /*isShared=*/true);
  constexpr double most = 1.05;
  for (int link = 0; link < 8; ++link)
    for (int rate = 0; rate < 8; ++rate) {
      Cluster cluster;
      cluster.ranks = {2};
      cluster.levels.push_back({{1e-7, 1e8 * std::pow(3.0, link)}});
      ReplayScale scale;
      scale.all = 1e-3 * std::pow(2.5, rate) / own;
      RankPlan plan = replay(trace, cluster, 2, scale);
      // Nothing can be computed before the first gather, nor sent after the
      // last gradient but its sum.
      constexpr double bytes = 4.0 * kWidth * kWidth;
      double ends = cluster.getSeconds(Exchange::AllGather, bytes, 2) +
                    cluster.getSeconds(Exchange::ReduceScatter, bytes, 2);
      double longer = std::max(plan.computeSeconds, plan.exchangeSeconds);
      EXPECT_LE(plan.stepSeconds, most * longer + ends)
          << "link " << link << ", rate " << rate;
    }
}
