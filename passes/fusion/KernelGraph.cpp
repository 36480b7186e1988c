// SPDX-License-Identifier: Apache-2.0

#include "passes/fusion/KernelGraph.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <cassert>

using namespace llvm;
using namespace ingot;

KernelGraph::KernelGraph(unsigned count)
    : successors(count), predecessors(count),
      place(to_vector(seq<unsigned>(0, count))), nodeAt(place) {}

void KernelGraph::addEdge(unsigned from, unsigned to) {
  assert(place[from] < place[to] && "the order must hold");
  successors[from].insert(to);
  predecessors[to].insert(from);
}

bool KernelGraph::reaches(unsigned from, unsigned to, bool skipDirect) const {
  SmallVector<unsigned> work;
  DenseSet<unsigned> seen;
  auto visit = [&](unsigned next) {
    if (place[next] <= place[to] && seen.insert(next).second)
      work.push_back(next);
  };
  for (unsigned next : successors[from])
    if (!(skipDirect && next == to))
      visit(next);
  while (!work.empty()) {
    unsigned current = work.pop_back_val();
    if (current == to)
      return true;
    for_each(successors[current], visit);
  }
  return false;
}

void KernelGraph::merge(unsigned node, unsigned into) {
  reorder(node, into);
  for (unsigned next : successors[node]) {
    predecessors[next].remove(node);
    if (next == into)
      continue;
    successors[into].insert(next);
    predecessors[next].insert(into);
  }
  for (unsigned previous : predecessors[node]) {
    successors[previous].remove(node);
    if (previous == into)
      continue;
    successors[previous].insert(into);
    predecessors[into].insert(previous);
  }
  successors[node].clear();
  predecessors[node].clear();
}

/// Moves the nodes between both after their common position if they depend on
/// the first of them, otherwise before it.
void KernelGraph::reorder(unsigned node, unsigned into) {
  unsigned begin = std::min(place[node], place[into]);
  unsigned end = std::max(place[node], place[into]);
  DenseSet<unsigned> after;
  SmallVector<unsigned> work = {nodeAt[begin]};
  while (!work.empty())
    for (unsigned next : successors[work.pop_back_val()])
      if (place[next] < end && after.insert(next).second)
        work.push_back(next);
  SmallVector<unsigned> ahead, behind;
  for (unsigned i = begin + 1; i < end; ++i)
    if (nodeAt[i] != kNone)
      (after.contains(nodeAt[i]) ? behind : ahead).push_back(nodeAt[i]);
  std::fill(nodeAt.begin() + begin, nodeAt.begin() + end + 1, kNone);
  unsigned next = begin;
  auto put = [&](unsigned current) {
    place[current] = next;
    nodeAt[next++] = current;
  };
  for_each(ahead, put);
  put(into);
  for_each(behind, put);
}
