//===----------------------------------------------------------------------===//
//
// What must run before what, while nodes are merged.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_FUSION_KERNELGRAPH_H
#define INGOT_PASSES_FUSION_KERNELGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

namespace ingot {

/// A directed graph without cycles. It keeps a topological order, so that
/// questions and merges look only at what lies between two nodes in it (after
/// Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic
/// Graphs", 2007).
class KernelGraph {
public:
  KernelGraph() = default;
  /// `count` nodes, whose numbers are their order.
  explicit KernelGraph(unsigned count);

  /// Makes `to` run after `from`, which comes before it in the order.
  void addEdge(unsigned from, unsigned to);
  llvm::ArrayRef<unsigned> getSuccessors(unsigned node) const {
    return successors[node].getArrayRef();
  }

  /// Returns true if `to` runs after `from` because of nodes in between (or
  /// directly, unless `skipDirect`).
  bool reaches(unsigned from, unsigned to, bool skipDirect) const;
  /// `into` takes the edges of `node`. No node may be between them.
  void merge(unsigned node, unsigned into);

private:
  void reorder(unsigned node, unsigned into);

  llvm::SmallVector<llvm::SetVector<unsigned>, 0> successors, predecessors;
  /// The place of each node in the order, and the node at each place, or
  /// `none`.
  static constexpr unsigned none = -1;
  llvm::SmallVector<unsigned> place, nodeAt;
};

} // namespace ingot

#endif // INGOT_PASSES_FUSION_KERNELGRAPH_H
