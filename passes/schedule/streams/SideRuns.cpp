// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/streams/SideRuns.h"

#include "dialects/ingot/target/Machine.h"
#include "passes/schedule/graph/SideRegions.h"
#include "runtime/abi/Abi.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace ingot;

void ingot::markRuns(ArrayRef<SideRun> runs, const StepGraph &graph) {
  int64_t number = 0;
  for (const SideRun &run : runs) {
    for (unsigned i = run.first; i < run.end; ++i) {
      mlir::Operation *op = graph.getNodes()[i].op;
      if (run.isDropped)
        op->removeAttr(kSideAttr);
      else
        op->setAttr(kSideAttr,
                    mlir::Builder(op->getContext()).getI64IntegerAttr(number));
    }
    number += !run.isDropped;
  }
}

/// Drops the runs that keep memory alive at an instant, or else the last run;
/// returns false if there is none left.
static bool dropAt(MutableArrayRef<SideRun> runs, const NodeTimes &times,
                   int64_t instant) {
  auto drop = [&](SideRun &run) {
    bool isThere = !run.isDropped && times.getFirst(run.first) <= instant &&
                   instant <= times.getLast(run.first);
    run.isDropped |= isThere;
    return isThere;
  };
  bool isAny = false;
  for (SideRun &run : runs)
    isAny |= drop(run);
  if (isAny)
    return true;
  for (SideRun &run : reverse(runs))
    if (!run.isDropped)
      return run.isDropped = true;
  return false;
}

void ingot::fitRuns(MutableArrayRef<SideRun> runs, const StepGraph &graph,
                    const Target &target, int64_t most) {
  for (bool isAny = true; isAny;) {
    markRuns(runs, graph);
    StepGraph marked(graph.getSignature(), target);
    SmallVector<unsigned> order = marked.getProgramOrder();
    StepGraph::Lifetimes lifetimes = marked.getLifetimes(order);
    int64_t peak = 0;
    // Where packing does not reach the bound, what is at the peak is in the
    // way.
    if (peakLiveBytes(lifetimes.intervals, INGOT_ALIGNMENT, &peak) <= most &&
        packIntervals(lifetimes.intervals, INGOT_ALIGNMENT, most) <= most)
      return;
    isAny = dropAt(runs, NodeTimes(marked.getNodes(), order), peak);
  }
}

SideUses::SideUses(ArrayRef<SideRun> runs, const StepGraph &graph,
                   ArrayRef<double> seconds, const Machine &machine)
    : runs(runs), graph(graph), seconds(seconds), machine(machine) {
  ArrayRef<StepGraph::Node> nodes = graph.getNodes();
  SmallVector<int64_t> runOf(nodes.size(), -1);
  for (auto [number, run] : enumerate(runs))
    for (unsigned i = run.first; i < run.end; ++i)
      runOf[i] = static_cast<int64_t>(number);
  SmallVector<double> start;
  double now = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    start.push_back(now);
    now += runOf[i] < 0 ? seconds[i] : 0;
  }
  uses.assign(nodes.size(), now);
  for (const SideRun &run : runs)
    for (unsigned i = run.end; i-- > run.first;) {
      uses[i] = now - start[run.first];
      for (unsigned next : nodes[i].successors)
        if (runOf[next] == runOf[i])
          uses[i] = std::min(uses[i], uses[next]);
        else if (runOf[next] < 0)
          uses[i] = std::min(uses[i], start[next] - start[run.first]);
    }
}

bool SideUses::isLate(double done, double use, double first) const {
  return done > first && use > first + kLeastLaunches * machine.launchSeconds;
}

bool SideUses::sort() const {
  SmallVector<unsigned> order = graph.getProgramOrder();
  bool isAny = false;
  for (const SideRun &run : runs) {
    double all = 0, first = uses[run.first], last = first;
    for (unsigned i = run.first; i < run.end; ++i) {
      all += seconds[i];
      first = std::min(first, uses[i]);
      last = std::max(last, uses[i]);
    }
    if (!isLate(all, last, first))
      continue;
    isAny = true;
    // A node is not needed later than what needs it, so that it stays before.
    std::stable_sort(order.begin() + run.first, order.begin() + run.end,
                     [&](unsigned a, unsigned b) { return uses[a] < uses[b]; });
  }
  if (isAny)
    graph.applyOrder(order);
  return isAny;
}

SmallVector<SideRun> SideUses::split() const {
  SmallVector<SideRun> parts;
  for (const SideRun &run : runs) {
    parts.push_back({run.first, run.end});
    double done = 0, first = uses[run.first];
    for (unsigned i = run.first; i < run.end; ++i) {
      done += seconds[i];
      if (!isLate(done, uses[i], first)) {
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
