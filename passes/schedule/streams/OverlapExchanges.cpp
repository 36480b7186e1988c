// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// OverlapExchanges: exchanges between ranks are in flight while the step
// computes what does not need them.
//
// Assumes that operations are in execution order.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/StateOnly.h"
#include "dialects/ingot/analysis/TensorLevel.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Machine.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/graph/StepGraph.h"
#include "passes/schedule/streams/ExchangeOrder.h"
#include "passes/schedule/streams/SideRuns.h"

namespace ingot {
#define GEN_PASS_DEF_OVERLAPEXCHANGES
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct OverlapExchanges : ingot::impl::OverlapExchangesBase<OverlapExchanges> {
  using OverlapExchangesBase::OverlapExchangesBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    // A loop, whose body is a private function, has one stream.
    if (func.isDeclaration() || func.isPrivate() ||
        func.getOps<Exchange>().empty())
      return;
    if (failed(verifyTensorLevel(func, getArgument())))
      return signalPassFailure();
    std::unique_ptr<const Target> target = Target::of(func);
    Signature signature(func);
    const StepGraph given(signature, *target);
    NodeSeconds times(given, target->getMachine());
    llvm::BitVector none(times.seconds.size());
    ExchangeTimes before =
        playExchanges(given, given.getProgramOrder(), times, none);
    int64_t bytes = given.getArenaBytes();
    constexpr int64_t percent = 100;
    int64_t most =
        bytes + std::max<int64_t>(bytes * maxGrowth / percent, freeBytes);
    if (llvm::none_of(func.getOps<BucketEnd>(), gathersStates))
      reorder(given, *target, times, most);

    const StepGraph graph(signature, *target);
    times = NodeSeconds(graph, target->getMachine());
    SmallVector<SideRun> runs =
        findRuns(graph, times, target->getMachine().launchSeconds);
    fitRuns(runs, graph, *target, most);
    llvm::BitVector inFlight(times.seconds.size());
    for (const SideRun &run : runs)
      if (!run.isDropped)
        inFlight.set(run.first);
    numInFlight += inFlight.count();
    report(inFlight.count(), before,
           playExchanges(graph, graph.getProgramOrder(), times, inFlight),
           runs.empty() ? "what follows an exchange needs its result"
                        : "the arena would be larger");
  }

private:
  /// Moves operations to where the step is done first: from anywhere, or from
  /// nearby where the arena is too large otherwise.
  void reorder(const StepGraph &graph, const Target &target,
               const NodeSeconds &times, int64_t most) {
    SmallVector<unsigned> program = graph.getProgramOrder();
    double fastest =
        playExchanges(graph, program, times, times.isExchange).step;
    constexpr size_t shrink = 4, least = 4;
    for (size_t window = program.size(); window >= least; window /= shrink) {
      SmallVector<unsigned> order =
          overlapExchanges(graph, program, times, window);
      if (playExchanges(graph, order, times, times.isExchange).step >= fastest)
        return;
      graph.applyOrder(order);
      if (StepGraph(graph.getSignature(), target).getArenaBytes() <= most)
        return;
    }
    graph.applyOrder(program);
  }

  /// Returns the exchanges with enough behind them that does not need them.
  static SmallVector<SideRun> findRuns(const StepGraph &graph,
                                       const NodeSeconds &times,
                                       double launchSeconds) {
    SmallVector<SideRun> runs;
    ArrayRef<StepGraph::Node> nodes = graph.getNodes();
    for (unsigned i = 0; i < nodes.size(); ++i) {
      if (!times.isExchange[i])
        continue;
      unsigned reader = nodes.size();
      for (unsigned next : nodes[i].successors)
        reader = std::min(reader, next);
      double beside = 0;
      for (unsigned at = i + 1; at < reader; ++at)
        beside += times.isExchange[at] ? 0 : times.seconds[at];
      if (beside >= kLeastLaunches * launchSeconds)
        runs.push_back({i, i + 1});
    }
    return runs;
  }

  void report(int64_t inFlight, const ExchangeTimes &before,
              const ExchangeTimes &after, const char *reason) {
    func::FuncOp func = getOperation();
    auto options = remarkOptions(getArgument(), "Overlap");
    auto describe = [&](auto &&remark) {
      remark << remark::metric("function", func.getName())
             << remark::metric("in_flight", inFlight)
             << remark::metric("exchange_seconds", after.exchange)
             << remark::metric("exposed_seconds", after.getExposed())
             << remark::metric("exposed_seconds_before", before.getExposed());
    };
    if (inFlight != 0)
      return describe(remark::passed(func.getLoc(), options));
    describe(remark::missed(func.getLoc(), options) << remark::reason(reason));
  }
};

} // namespace
