// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// AssignStreams: moves operations off the critical path to a second stream.
//
// Assumes that operations are in execution order.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/TensorLevel.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/cost/Cost.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/graph/SideRegions.h"
#include "passes/schedule/graph/StepGraph.h"
#include "runtime/abi/Abi.h"

namespace ingot {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// A run of nodes in the order: [first, end).
struct Run {
  unsigned first, end;
  bool isDropped = false;
};

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
    if (target->getStreams() < 2)
      return;
    auto remark = remarkOptions(getArgument(), "Streams");
    // Such waits are calls of their own before whatever reads the state.
    if (!func.getOps<StateGatherWaitOp>().empty()) {
      remark::missed(func.getLoc(), remark)
          << remark::metric("function", func.getName())
          << remark::reason("it waits for states of other ranks");
      return;
    }
    Signature signature(func);
    const StepGraph inOrder(signature, *target);
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
    SmallVector<Run> runs = findRuns(graph, *target);
    if (runs.empty()) {
      remark::missed(func.getLoc(), remark)
          << remark::metric("function", func.getName())
          << remark::reason("every operation is needed soon");
      return;
    }
    if (sortByUse(runs, graph, target->getMachine())) {
      graph = StepGraph(signature, *target);
      measure(graph, target->getMachine());
      runs = split(runs, graph, target->getMachine());
    }
    fit(runs, graph, *target, most);
    mark(runs, graph);
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
    return !isa<BucketEnd>(node.op) && target.canRunBeside(node.op) &&
           slack[i] >=
               std::max(seconds[i],
                        leastLaunches * target.getMachine().launchSeconds);
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
  SmallVector<Run> findRuns(const StepGraph &graph, const Target &target) {
    ArrayRef<StepGraph::Node> nodes = graph.getNodes();
    const Machine &machine = target.getMachine();
    SmallVector<Run> runs;
    for (unsigned i = 0; i < nodes.size();) {
      unsigned end = i;
      double work = 0;
      for (; end < nodes.size() && canWait(nodes[end], end, target); ++end)
        work += seconds[end] - machine.launchSeconds;
      // What follows the last node that has to be soon is beside nothing.
      if (end < nodes.size() && work >= leastLaunches * machine.launchSeconds)
        runs.push_back({i, end});
      i = std::max(end, i + 1);
    }
    return runs;
  }

  /// When the first stream needs each node of the runs, from the start of its
  /// run if it never waits; that of the end of the step where it does not.
  SmallVector<double> findUses(ArrayRef<Run> runs,
                               const StepGraph &graph) const {
    ArrayRef<StepGraph::Node> nodes = graph.getNodes();
    SmallVector<int64_t> runOf(nodes.size(), -1);
    for (auto [number, run] : llvm::enumerate(runs))
      for (unsigned i = run.first; i < run.end; ++i)
        runOf[i] = static_cast<int64_t>(number);
    SmallVector<double> start;
    double now = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      start.push_back(now);
      now += runOf[i] < 0 ? seconds[i] : 0;
    }
    SmallVector<double> uses(nodes.size(), now);
    for (const Run &run : runs)
      for (unsigned i = run.end; i-- > run.first;) {
        uses[i] = now - start[run.first];
        for (unsigned next : nodes[i].successors)
          if (runOf[next] == runOf[i])
            uses[i] = std::min(uses[i], uses[next]);
          else if (runOf[next] < 0)
            uses[i] = std::min(uses[i], start[next] - start[run.first]);
      }
    return uses;
  }

  /// Returns whether what comes at `done` should not be waited for together
  /// with what is needed at `first`.
  static bool isLate(double done, double use, double first,
                     const Machine &machine) {
    return done > first && use > first + leastLaunches * machine.launchSeconds;
  }

  /// Puts the nodes of runs into the order in which they are needed, where not
  /// all of a run is done by then. Returns false if there is none.
  bool sortByUse(ArrayRef<Run> runs, const StepGraph &graph,
                 const Machine &machine) const {
    SmallVector<double> uses = findUses(runs, graph);
    SmallVector<unsigned> order = graph.getProgramOrder();
    bool isAny = false;
    for (const Run &run : runs) {
      double all = 0, first = uses[run.first], last = first;
      for (unsigned i = run.first; i < run.end; ++i) {
        all += seconds[i];
        first = std::min(first, uses[i]);
        last = std::max(last, uses[i]);
      }
      if (!isLate(all, last, first, machine))
        continue;
      isAny = true;
      // A node is not needed later than what needs it, so that it stays before.
      std::stable_sort(
          order.begin() + run.first, order.begin() + run.end,
          [&](unsigned a, unsigned b) { return uses[a] < uses[b]; });
    }
    if (isAny)
      graph.applyOrder(order);
    return isAny;
  }

  /// Divides runs so that what is needed first is not waited for together with
  /// what is done later.
  SmallVector<Run> split(ArrayRef<Run> runs, const StepGraph &graph,
                         const Machine &machine) const {
    SmallVector<double> uses = findUses(runs, graph);
    SmallVector<Run> parts;
    for (const Run &run : runs) {
      parts.push_back({run.first, run.end});
      double done = 0, first = uses[run.first];
      for (unsigned i = run.first; i < run.end; ++i) {
        done += seconds[i];
        if (!isLate(done, uses[i], first, machine)) {
          first = std::min(first, uses[i]);
          continue;
        }
        parts.back().end = i;
        parts.push_back({i, run.end});
        first = uses[i];
      }
    }
    return parts;
  }

  void mark(ArrayRef<Run> runs, const StepGraph &graph) {
    auto type = IntegerType::get(&getContext(), 64);
    int64_t number = 0;
    for (const Run &run : runs) {
      for (unsigned i = run.first; i < run.end; ++i) {
        Operation *op = graph.getNodes()[i].op;
        if (run.isDropped)
          op->removeAttr(kSideAttr);
        else
          op->setAttr(kSideAttr, IntegerAttr::get(type, number));
      }
      number += !run.isDropped;
    }
  }

  /// Drops runs until the arena takes at most `most` bytes.
  void fit(SmallVectorImpl<Run> &runs, const StepGraph &graph,
           const Target &target, int64_t most) {
    for (bool isPacked = false; !isPacked;) {
      mark(runs, graph);
      StepGraph marked(graph.getSignature(), target);
      SmallVector<unsigned> order = marked.getProgramOrder();
      StepGraph::Lifetimes lifetimes = marked.getLifetimes(order);
      int64_t peak = 0;
      int64_t bytes =
          peakLiveBytes(lifetimes.intervals, INGOT_ALIGNMENT, &peak);
      isPacked = bytes <= most;
      if (isPacked) {
        bytes = packIntervals(lifetimes.intervals, INGOT_ALIGNMENT, most);
        if (bytes <= most)
          return;
        // Packing does not reach the bound: what is at the peak is in the way.
        isPacked = false;
      }
      if (!dropAt(runs, NodeTimes(marked.getNodes(), order), peak))
        return;
    }
  }

  /// Drops the runs that keep memory alive at an instant, or else the last run;
  /// returns false if there is none left.
  static bool dropAt(SmallVectorImpl<Run> &runs, const NodeTimes &times,
                     int64_t instant) {
    auto drop = [&](Run &run) {
      bool isThere = !run.isDropped && times.getFirst(run.first) <= instant &&
                     instant <= times.getLast(run.first);
      run.isDropped |= isThere;
      return isThere;
    };
    bool isAny = false;
    for (Run &run : runs)
      isAny |= drop(run);
    if (isAny)
      return true;
    for (Run &run : llvm::reverse(runs))
      if (!run.isDropped)
        return run.isDropped = true;
    return false;
  }

  void report(ArrayRef<Run> runs, int64_t bytes) {
    double beside = 0;
    int64_t kept = 0;
    for (const Run &run : runs) {
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

  /// The least time of a region, and the least that it can wait, in launches: a
  /// region takes two more edges of the graph.
  static constexpr double leastLaunches = 3;

  /// By node.
  SmallVector<double> seconds, slack;
};

} // namespace
