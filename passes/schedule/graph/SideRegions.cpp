// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/graph/SideRegions.h"

using namespace llvm;
using namespace ingot;

/// A region is waited for before the second one after it starts, so that
/// memory does not wait for the end of the step. Those that start at the same
/// instant count as one.
static constexpr size_t kUnderWay = 2;

/// Returns the instant at which the second region after one starts; `none` if
/// there is none.
static int64_t findSecondStart(ArrayRef<SideRegion> regions, size_t of,
                               int64_t none) {
  size_t starts = 0;
  for (size_t i = of + 1; i < regions.size(); ++i) {
    starts += regions[i].first != regions[i - 1].end;
    if (starts == kUnderWay)
      return regions[i].first;
  }
  return none;
}

NodeTimes::NodeTimes(ArrayRef<StepNode> nodes, ArrayRef<unsigned> order)
    : first(nodes.size()), last(nodes.size()), regionOf(nodes.size(), -1) {
  auto end = static_cast<int64_t>(order.size());
  for (auto [i, node] : enumerate(order)) {
    first[node] = last[node] = static_cast<int64_t>(i);
    int64_t number = nodes[node].side;
    if (number < 0)
      continue;
    bool isNew = regions.empty() || regions.back().number != number ||
                 regions.back().end != static_cast<int64_t>(i);
    if (isNew)
      regions.push_back({number, static_cast<int64_t>(i), 0, end});
    regions.back().end = static_cast<int64_t>(i) + 1;
    regionOf[node] = static_cast<int64_t>(regions.size()) - 1;
  }
  for (auto [i, region] : enumerate(regions)) {
    region.wait = findSecondStart(regions, i, end);
    for (int64_t at = region.first; at < region.end; ++at)
      for (unsigned next : nodes[order[at]].successors)
        if (regionOf[next] < 0)
          region.wait = std::min(region.wait, first[next]);
  }
  // What a later region is waited for waits for the earlier ones as well.
  for (size_t i = regions.size(); i-- > 1;)
    regions[i - 1].wait = std::min(regions[i - 1].wait, regions[i].wait);
  for (const SideRegion &region : regions)
    for (int64_t at = region.first; at < region.end; ++at) {
      first[order[at]] = region.first;
      last[order[at]] = region.wait - 1;
    }
}
