// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/Plan.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/target/Machine.h"
#include "passes/cost/gpu/Timeline.h"
#include "runtime/abi/Payload.h"
#include "runtime/abi/Shard.h"
#include "runtime/core/Error.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace ingot;

namespace {

/// The simulator of one step.
class Player {
public:
  Player(const Cluster &cluster, int64_t ranks, double launchSeconds,
         double scale)
      : cluster(cluster), launchSeconds(launchSeconds), scale(scale) {
    plan.ranks = ranks;
  }

  void play(exec::StepOp step) {
    exec::forEachCall(step, [&](exec::AbiCall call, int64_t times) {
      switch (call.getAbiEntry().phase) {
      case abi::Phase::Start:
        begin(cast<exec::CallOp>(call));
        break;
      case abi::Phase::Wait:
        finish(cast<exec::CallOp>(call).getDesc().getInteger("number"));
        break;
      // Regions concurrent with others take their time in their place here.
      case abi::Phase::SideStart:
      case abi::Phase::SideEnd:
      case abi::Phase::SideWait:
        break;
      case abi::Phase::Exchange:
      case abi::Phase::None:
        compute(call, static_cast<double>(times));
      }
    });
  }

  bool isAnythingUnderWay() const { return !ends.empty(); }
  /// Exchanges that are in flight continue in the next step, which starts now.
  void startNext() {
    for (auto &[number, end] : ends)
      end -= now;
    linkFree -= now;
    now = 0;
    plan = RankPlan{plan.ranks};
  }

  RankPlan take() {
    plan.stepSeconds = now;
    return plan;
  }

private:
  void begin(exec::CallOp start) {
    if (plan.ranks == 1)
      return;
    auto desc = start.getDesc().getDescriptor().get<ingot_bucket_desc>();
    Exchange exchange = start.getAbiEntry().exchange;
    auto bytes = static_cast<double>(start.getCallBytes());
    // Every rank gets the compressed elements of all.
    if (desc.compression != INGOT_UNCOMPRESSED) {
      exchange = Exchange::AllGather;
      bytes = static_cast<double>(
          plan.ranks *
          abi::getPayloadBytes(desc.compression, desc.elements, desc.k));
    }
    double seconds = cluster.getSeconds(exchange, bytes, plan.ranks);
    linkFree = std::max(now, linkFree) + seconds;
    plan.exchangeSeconds += seconds;
    double host = cluster.getHostSeconds(exchange, bytes, plan.ranks);
    plan.hostSeconds += host;
    now += host;
    ends[desc.number] = linkFree;
  }

  void finish(int64_t number) {
    double wait = std::max(0.0, ends.lookup(number) - now);
    ends.erase(number);
    plan.exposedSeconds += wait;
    now += wait;
  }

  void compute(exec::AbiCall call, double times) {
    auto bound = call->getAttrOfType<FloatAttr>(exec::kBoundAttr);
    if (!bound)
      return;
    double seconds = bound.getValueAsDouble();
    // Ranks share what is computed of a bucket in shards.
    if (call.getDescriptor(/*index=*/0).getInteger("shard_of") != 0)
      seconds = launchSeconds + std::max(0.0, seconds - launchSeconds) /
                                    static_cast<double>(plan.ranks);
    now += times * seconds * scale;
    plan.computeSeconds += times * seconds * scale;
  }

  const Cluster &cluster;
  double launchSeconds, scale;
  RankPlan plan;
  double now = 0, linkFree = 0;
  /// The end times of the exchanges in flight, by number: of their function, or
  /// of states.
  DenseMap<int64_t, double> ends;
};

} // namespace

/// Sharded states are not in the plan of one rank.
static int64_t getShardBytes(ModuleOp module, int64_t ranks) {
  int64_t bytes = 0;
  for (auto state : module.getOps<StateOp>())
    if (ShardAttr shard = state.getShardAttr()) {
      RankedTensorType type = state.getTensorType();
      runtime::ElementRange held = runtime::getShard(
          type.getNumElements(), shard.getFirst(), shard.getOf(),
          /*rank=*/0, ranks);
      bytes += llvm::alignTo(
          held.getCount() * type.getElementTypeBitWidth() / 8, INGOT_ALIGNMENT);
    }
  return bytes;
}

/// Returns the calls of one step, on one rank at least, of all micro-batches.
static RankPlan play(ModuleOp module, const Cluster &cluster, int64_t ranks,
                     double scale) {
  Player player(cluster, ranks, Machine::of(module).launchSeconds, scale);
  exec::StepOp step, micro;
  for (auto func : module.getOps<exec::StepOp>()) {
    if (!step && func.getSymName().starts_with(kTrainStepName))
      step = func;
    if (!micro && func.getSymName().starts_with(kAccumulateStepName))
      micro = func;
  }
  auto count = module->getAttrOfType<IntegerAttr>(kGradAccumulationAttr);
  auto takeStep = [&] {
    for (int64_t i = 1; micro && count && i < count.getInt(); ++i)
      player.play(micro);
    player.play(step);
  };
  takeStep();
  // A step waits for the exchanges that the previous one has started.
  if (player.isAnythingUnderWay()) {
    player.startNext();
    takeStep();
  }
  RankPlan plan = player.take();
  plan.memoryBytes =
      step.getMemoryAttr().getPeak() + getShardBytes(module, ranks);
  return plan;
}

RankPlan ingot::planRanks(ModuleOp module, const Cluster &cluster,
                          int64_t ranks) {
  double scale = 1;
  if (cluster.stepSeconds)
    scale = *cluster.stepSeconds /
            play(module, cluster, /*ranks=*/1, scale).stepSeconds;
  return play(module, cluster, ranks, scale);
}

std::string ingot::describePlans(ModuleOp module, const Cluster &cluster) {
  auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
  auto count = module->getAttrOfType<IntegerAttr>(kGradAccumulationAttr);
  int64_t samples = (batch ? batch.getInt() : 1) * (count ? count.getInt() : 1);
  llvm::json::Array plans;
  for (int64_t ranks : cluster.ranks) {
    RankPlan plan = planRanks(module, cluster, ranks);
    plans.push_back(llvm::json::Object{
        {"ranks", ranks},
        {"batch", ranks * samples},
        {"step_ms", plan.stepSeconds * 1e3},
        {"compute_ms", plan.computeSeconds * 1e3},
        {"exchange_ms", plan.exchangeSeconds * 1e3},
        {"exposed_ms", plan.exposedSeconds * 1e3},
        {"host_ms", plan.hostSeconds * 1e3},
        {"samples_per_s",
         static_cast<double>(ranks * samples) / plan.stepSeconds},
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
