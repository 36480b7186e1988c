// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// AssignStreams: moves operations off the critical path to a second stream.
//
// Assumes that operations are in execution order.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/StateOnly.h"
#include "dialects/ingot/analysis/TensorLevel.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/cost/Cost.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/graph/SideRegions.h"
#include "passes/schedule/graph/StepGraph.h"
#include "passes/schedule/streams/SideRuns.h"
#include "runtime/abi/Abi.h"

namespace ingot {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct AssignStreams : ingot::impl::AssignStreamsBase<AssignStreams> {
  using AssignStreamsBase::AssignStreamsBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    // A loop, whose body is a private function, is in one stream.
    if (func.isDeclaration() || func.isPrivate())
      return;
    if (failed(verifyTensorLevel(func, getArgument())))
      return signalPassFailure();
    std::unique_ptr<const Target> target = Target::of(func);
    const TargetDevice *device = target->findDevice();
    if (!device || device->getStreams() < 2)
      return;
    auto remark = remarkOptions(getArgument(), "Streams");
    // Such waits are calls of their own before whatever reads the state.
    if (!func.getOps<StateGatherWaitOp>().empty() ||
        llvm::any_of(func.getOps<BucketEnd>(), gathersStates)) {
      remark::missed(func.getLoc(), remark)
          << remark::metric("function", func.getName())
          << remark::reason("it waits for states of other ranks");
      return;
    }
    Signature signature(func);
    const StepGraph inOrder(signature, *target);
    if (llvm::any_of(inOrder.getNodes(), [](const StepGraph::Node &node) {
          return node.side >= 0;
        })) {
      remark::missed(func.getLoc(), remark)
          << remark::metric("function", func.getName())
          << remark::reason("exchanges between ranks are in flight");
      return;
    }
    int64_t before = inOrder.getArenaBytes();
    constexpr int64_t percent = 100;
    int64_t most =
        before + std::max<int64_t>(before * maxGrowth / percent, freeBytes);
    moveUpdates(inOrder, *target);
    // As the arena is placed: a search for this bound may find less.
    if (StepGraph(signature, *target).getArenaBytes() > most)
      inOrder.applyOrder(inOrder.getProgramOrder());
    StepGraph graph(signature, *target);
    measure(graph, target->getMachine());
    SmallVector<SideRun> runs = findRuns(graph, *target);
    if (runs.empty()) {
      remark::missed(func.getLoc(), remark)
          << remark::metric("function", func.getName())
          << remark::reason("every operation is needed soon");
      return;
    }
    if (SideUses(runs, graph, seconds, target->getMachine()).sort()) {
      graph = StepGraph(signature, *target);
      measure(graph, target->getMachine());
      runs = SideUses(runs, graph, seconds, target->getMachine()).split();
    }
    fitRuns(runs, graph, *target, most);
    report(runs, StepGraph(signature, *target).getArenaBytes());
  }

private:
  /// Estimates the seconds of each node, and how long its results can wait for
  /// it: how much later than at the earliest it can start if as much as
  /// possible runs at the same time.
  void measure(const StepGraph &graph, const Machine &machine) {
    ArrayRef<StepGraph::Node> nodes = graph.getNodes();
    seconds.assign(nodes.size(), 0);
    slack.assign(nodes.size(), 0);
    SmallVector<double> start(nodes.size(), 0), tail(nodes.size(), 0);
    double all = 0;
    for (auto [i, node] : llvm::enumerate(nodes)) {
      seconds[i] = estimateCost(node.op, machine).seconds;
      all = std::max(all, start[i] + seconds[i]);
      for (unsigned next : node.successors)
        start[next] = std::max(start[next], start[i] + seconds[i]);
    }
    for (size_t i = nodes.size(); i-- > 0;) {
      for (unsigned next : nodes[i].successors)
        tail[i] = std::max(tail[i], tail[next]);
      tail[i] += seconds[i];
      slack[i] = all - start[i] - tail[i];
    }
  }

  bool canWait(const StepGraph::Node &node, size_t i,
               const Target &target) const {
    // Ranks start exchanges in one order, and each waits for its gradients.
    return !isa<BucketEnd, Exchange>(node.op) &&
           target.findDevice()->canRunBeside(node.op) &&
           slack[i] >=
               std::max(seconds[i],
                        kLeastLaunches * target.getMachine().launchSeconds);
  }

  /// Moves what updates states, and scalars, to right behind what they need:
  /// the order for memory leaves them at the end where gradients are not at the
  /// peak, and nothing is left there that they could run concurrently with.
  void moveUpdates(const StepGraph &graph, const Target &target) {
    constexpr int64_t negligible = 1024;
    measure(graph, target.getMachine());
    ArrayRef<StepGraph::Node> nodes = graph.getNodes();
    SmallVector<unsigned> ready(nodes.size(), 0);
    SmallVector<std::pair<unsigned, unsigned>> keyed;
    for (auto [i, node] : llvm::enumerate(nodes)) {
      int64_t bytes = 0;
      for (unsigned buffer : node.writes)
        bytes += graph.getBuffers()[buffer].bytes;
      // A place between those of the nodes before and after.
      auto place = static_cast<unsigned>(i);
      if (bytes <= negligible && canWait(node, i, target))
        place = ready[i];
      for (unsigned next : node.successors)
        ready[next] = std::max(ready[next], place);
      keyed.push_back({place, static_cast<unsigned>(i)});
    }
    llvm::sort(keyed);
    graph.applyOrder(
        llvm::map_to_vector(keyed, [](const auto &key) { return key.second; }));
  }

  /// Returns the runs of nodes that can run concurrently with nodes that come
  /// later.
  SmallVector<SideRun> findRuns(const StepGraph &graph, const Target &target) {
    ArrayRef<StepGraph::Node> nodes = graph.getNodes();
    const Machine &machine = target.getMachine();
    SmallVector<SideRun> runs;
    for (unsigned i = 0; i < nodes.size();) {
      unsigned end = i;
      double work = 0;
      for (; end < nodes.size() && canWait(nodes[end], end, target); ++end)
        work += seconds[end] - machine.launchSeconds;
      // What follows the last node that has to be soon is beside nothing.
      if (end < nodes.size() && work >= kLeastLaunches * machine.launchSeconds)
        runs.push_back({i, end});
      i = std::max(end, i + 1);
    }
    return runs;
  }

  void report(ArrayRef<SideRun> runs, int64_t bytes) {
    double beside = 0;
    int64_t kept = 0;
    for (const SideRun &run : runs) {
      if (run.isDropped)
        continue;
      ++kept;
      for (unsigned i = run.first; i < run.end; ++i) {
        beside += seconds[i];
        ++numBeside;
      }
    }
    numRegions += kept;
    auto options = remarkOptions(getArgument(), "Streams");
    func::FuncOp func = getOperation();
    auto describe = [&](auto &&remark) {
      remark << remark::metric("function", func.getName())
             << remark::metric("regions", kept)
             << remark::metric("left_out",
                               static_cast<int64_t>(runs.size()) - kept)
             << remark::metric("beside_seconds", beside)
             << remark::metric("arena_bytes", bytes);
    };
    if (kept != 0)
      return describe(remark::passed(func.getLoc(), options));
    describe(remark::missed(func.getLoc(), options)
             << remark::reason("the arena would be larger"));
  }

  /// By node.
  SmallVector<double> seconds, slack;
};

} // namespace
