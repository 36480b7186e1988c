// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The dependences between nodes while these are merged.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_FUSION_KERNELGRAPH_H
#define INGOT_PASSES_FUSION_KERNELGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

namespace ingot {

/// A directed acyclic graph. It maintains a topological order, so that queries
/// and merges only visit the nodes between two nodes of it (after Pearce and
/// Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs",
/// 2007).
class KernelGraph {
public:
  KernelGraph() = default;
  /// Creates a graph of `count` nodes, whose numbers are their initial order.
  explicit KernelGraph(unsigned count);

  /// Adds a dependence of `to` on `from`, which comes before it in the order.
  void addEdge(unsigned from, unsigned to);
  llvm::ArrayRef<unsigned> getSuccessors(unsigned node) const {
    return successors[node].getArrayRef();
  }

  /// Returns true if `to` depends on `from` through other nodes (or directly,
  /// unless `skipDirect`).
  bool reaches(unsigned from, unsigned to, bool skipDirect) const;
  /// Merges `node` into `into`, which takes over its edges. No node may be
  /// between them.
  void merge(unsigned node, unsigned into);

private:
  void reorder(unsigned node, unsigned into);

  llvm::SmallVector<llvm::SetVector<unsigned>, 0> successors, predecessors;
  /// The position of each node in the order, and the node at each position, or
  /// `kNone`.
  static constexpr unsigned kNone = -1;
  llvm::SmallVector<unsigned> place, nodeAt;
};

} // namespace ingot

#endif // INGOT_PASSES_FUSION_KERNELGRAPH_H
