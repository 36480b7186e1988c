#include "tools/ingotc/Plan.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/target/Machine.h"
#include "runtime/abi/Message.h"
#include "runtime/abi/Shard.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace ingot;

namespace {

/// The clock of one step.
class Player {
public:
  Player(const Cluster &cluster, int64_t ranks, double launchSeconds,
         double scale)
      : cluster(cluster), launchSeconds(launchSeconds), scale(scale) {
    plan.ranks = ranks;
  }

  void play(func::FuncOp step) {
    for (Operation &op : step.getBody().front())
      llvm::TypeSwitch<Operation *>(&op)
          .Case<exec::AllReduceStartOp>(
              [&](auto start) { begin(start, Exchange::AllReduce); })
          .Case<exec::ReduceScatterStartOp>(
              [&](auto start) { begin(start, Exchange::ReduceScatter); })
          .Case<exec::AllGatherStartOp>(
              [&](auto start) { begin(start, Exchange::AllGather); })
          .Case<exec::AllReduceWaitOp, exec::ReduceScatterWaitOp,
                exec::AllGatherWaitOp>(
              [&](auto wait) { finish(wait.getNumber()); })
          .Default([&](Operation *call) { compute(call); });
  }

  bool isAnythingUnderWay() const { return !ends.empty(); }
  /// What is under way goes on in the next step, which starts now.
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
  template <typename Op> void begin(Op start, Exchange exchange) {
    if (plan.ranks == 1)
      return;
    auto type = cast<ShapedType>(start.getBucket().getType());
    auto bytes = static_cast<double>(byteSize(type));
    // With a code, every rank gets the messages of all.
    if (auto code = static_cast<int32_t>(start.getCode())) {
      exchange = Exchange::AllGather;
      bytes = static_cast<double>(
          plan.ranks *
          abi::getMessageBytes(code, type.getNumElements(), start.getKept()));
    }
    double seconds = cluster.getSeconds(exchange, bytes, plan.ranks);
    linkFree = std::max(now, linkFree) + seconds;
    plan.exchangeSeconds += seconds;
    double host = cluster.getHostSeconds(exchange, bytes, plan.ranks);
    plan.hostSeconds += host;
    now += host;
    ends[start.getNumber()] = linkFree;
  }

  void finish(uint64_t number) {
    double wait = std::max(0.0, ends.lookup(number) - now);
    ends.erase(number);
    plan.exposedSeconds += wait;
    now += wait;
  }

  void compute(Operation *call) {
    auto bound = call->getAttrOfType<FloatAttr>("exec.bound");
    if (!bound)
      return;
    double seconds = bound.getValueAsDouble();
    auto launch = dyn_cast<exec::LaunchOp>(call);
    if ((launch && launch.getShard()) || isa<exec::ShardSquareSumOp>(call))
      seconds = launchSeconds + std::max(0.0, seconds - launchSeconds) /
                                    static_cast<double>(plan.ranks);
    now += seconds * scale;
    plan.computeSeconds += seconds * scale;
  }

  const Cluster &cluster;
  double launchSeconds, scale;
  RankPlan plan;
  double now = 0, linkFree = 0;
  /// When the exchanges under way end, by number: of their function, or of
  /// states.
  DenseMap<uint64_t, double> ends;
};

} // namespace

/// States that ranks have shards of are not in the plan of one.
static int64_t getShardBytes(ModuleOp module, int64_t ranks) {
  int64_t bytes = 0;
  for (auto state : module.getOps<StateOp>())
    if (std::optional<ArrayRef<int64_t>> shard = state.getShard()) {
      RankedTensorType type = state.getTensorType();
      runtime::ElementRange held =
          runtime::getShard(type.getNumElements(), (*shard)[0], (*shard)[1],
                            /*rank=*/0, ranks);
      bytes += llvm::alignTo(
          held.getCount() * type.getElementTypeBitWidth() / 8, INGOT_ALIGNMENT);
    }
  return bytes;
}

/// Returns the calls of one step, on one rank at least: of micro-batches, too.
static RankPlan play(ModuleOp module, const Cluster &cluster, int64_t ranks,
                     double scale) {
  Player player(cluster, ranks, Machine::of(module).launchSeconds, scale);
  func::FuncOp step, micro;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!step && func.getName().starts_with(kTrainStepName))
      step = func;
    if (!micro && func.getName().starts_with(kAccumulateStepName))
      micro = func;
  }
  auto count = module->getAttrOfType<IntegerAttr>(kGradAccumulationAttr);
  auto takeStep = [&] {
    for (int64_t i = 1; micro && count && i < count.getInt(); ++i)
      player.play(micro);
    player.play(step);
  };
  takeStep();
  // A step waits for what the one before has started.
  if (player.isAnythingUnderWay()) {
    player.startNext();
    takeStep();
  }
  RankPlan plan = player.take();
  auto memory = step->getAttrOfType<DictionaryAttr>("exec.memory");
  plan.memoryBytes = memory.getAs<IntegerAttr>("peak_bytes").getInt() +
                     getShardBytes(module, ranks);
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
