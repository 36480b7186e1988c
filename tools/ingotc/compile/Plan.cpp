// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/Plan.h"

#include "dialects/ingot/builders/Builders.h"
#include "passes/cost/gpu/Timeline.h"
#include "runtime/core/Error.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace ingot;

std::string ingot::describePlans(ModuleOp module, const Cluster &cluster) {
  auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
  auto count = module->getAttrOfType<IntegerAttr>(kGradAccumulationAttr);
  int64_t samples = (batch ? batch.getInt() : 1) * (count ? count.getInt() : 1);
  Trace trace = readTrace(module);
  double scale = getMeasuredScale(trace, cluster);
  llvm::json::Array plans;
  for (int64_t ranks : cluster.ranks) {
    if (ranks % trace.group != 0)
      throw runtime::badInput(
          "--plan",
          std::to_string(ranks) + " ranks are no multiple of the " +
              std::to_string(trace.group) + " that compute a step together",
          "give multiples of it in 'ranks', or another --mesh");
    RankPlan plan = replay(trace, cluster, ranks, {1, 1, 1, scale});
    int64_t all = ranks / trace.group * samples;
    plans.push_back(llvm::json::Object{
        {"ranks", ranks},
        {"batch", all},
        {"step_ms", plan.stepSeconds * 1e3},
        {"compute_ms", plan.computeSeconds * 1e3},
        {"exchange_ms", plan.exchangeSeconds * 1e3},
        {"exposed_ms", plan.exposedSeconds * 1e3},
        {"host_ms", plan.hostSeconds * 1e3},
        {"samples_per_s", static_cast<double>(all) / plan.stepSeconds},
        {"memory_bytes", plan.memoryBytes}});
  }
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(plans)));
  return text;
}

std::string ingot::describeGpuPlan(ModuleOp module, StringRef gpu,
                                   bool isOrdered) {
  auto timeline = gpu_model::predictStep(module, isOrdered);
  if (!timeline)
    throw runtime::usageError("--plan-gpu", "the model has no training step",
                              "give it a loss");
  return describeTimeline(*timeline, gpu);
}
