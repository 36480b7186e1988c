// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/streams/SideRuns.h"

#include "dialects/ingot/target/Machine.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace ingot;

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
