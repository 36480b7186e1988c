// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Regions of a step that run concurrently with the others: runs of nodes in the
// order that have the same number (kSideAttr). A region starts when all nodes
// before it in the order are done, runs on a second stream after the region
// before it, and is waited for before the first node that needs it. Regions
// next to each other start at the same instant and are waited for one by one.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_GRAPH_SIDEREGIONS_H
#define INGOT_PASSES_SCHEDULE_GRAPH_SIDEREGIONS_H

#include "passes/schedule/graph/StepNode.h"

namespace ingot {

/// A region under an order; instants are positions in the order.
struct SideRegion {
  int64_t number = 0;
  /// The instants of its first node, and after its last one.
  int64_t first = 0, end = 0;
  /// The instant before which it is waited for; that after all nodes if only
  /// the end of the step needs it.
  int64_t wait = 0;
};

/// When nodes run under an order.
class NodeTimes {
public:
  /// The nodes of a region are next to each other in the order.
  NodeTimes(llvm::ArrayRef<StepNode> nodes, llvm::ArrayRef<unsigned> order);

  /// Returns the first and the last instant at which a node may run; one
  /// instant, unless it is in a region.
  int64_t getFirst(unsigned node) const { return first[node]; }
  int64_t getLast(unsigned node) const { return last[node]; }
  /// Returns whether a node is done before another one starts, given that it is
  /// before it in the order.
  bool isDoneBefore(unsigned node, unsigned other) const {
    return (regionOf[node] >= 0 && regionOf[other] >= 0) ||
           last[node] < first[other];
  }
  llvm::ArrayRef<SideRegion> getRegions() const { return regions; }

private:
  llvm::SmallVector<int64_t> first, last, regionOf;
  llvm::SmallVector<SideRegion> regions;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_GRAPH_SIDEREGIONS_H
