// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A function of fusions, library calls and views as a graph for scheduling:
// operations that read and write buffers, their dependences, and the lifetimes
// of buffers under an order.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_GRAPH_STEPGRAPH_H
#define INGOT_PASSES_SCHEDULE_GRAPH_STEPGRAPH_H

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/target/Target.h"
#include "passes/schedule/graph/Arena.h"
#include "passes/schedule/graph/FusionSlice.h"
#include "passes/schedule/graph/StepNode.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ingot {

class NodeTimes;

/// The graph of one function, built from its current order.
class StepGraph {
public:
  using Buffer = StepBuffer;
  using InPlace = InPlaceResult;
  using Node = StepNode;

  /// A result of the function that needs memory of its own at the end: an
  /// input, a state, or another output; and the old value of a state, where
  /// states change places.
  struct OwnOutput {
    unsigned result;
    int64_t bytes;
  };

  /// The lifetimes of memory under an order; instants are positions in the
  /// order. What a node in a region concurrent with the others uses is live
  /// from the start of the region until the wait for it.
  struct Lifetimes {
    llvm::SmallVector<Interval> intervals;
    /// The interval of each buffer; a result written in place has that of its
    /// operand.
    llvm::SmallVector<unsigned> ofBuffer;
    /// The interval of each node's scratch, or -1.
    llvm::SmallVector<int64_t> ofScratch;
    /// The interval of each of the function's own outputs.
    llvm::SmallVector<unsigned> ofOutput;
  };

  /// Creates the graph of the function; library calls have the scratch memory
  /// that the target needs.
  StepGraph(Signature signature, const Target &target);

  Signature getSignature() const { return signature; }
  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  llvm::ArrayRef<Buffer> getBuffers() const { return buffers; }

  /// Returns the buffer of a value; none if the value is in a state's memory.
  std::optional<unsigned> getBuffer(mlir::Value value) const;
  /// Returns the state in whose memory a value is; null if it is in the arena.
  mlir::FlatSymbolRefAttr getState(mlir::Value value) const;
  /// Returns the new values of states that are not written in place, by result
  /// number.
  llvm::ArrayRef<unsigned> getCopiedStates() const { return copiedStates; }
  /// Returns the results that are copied to their places before all nodes.
  llvm::ArrayRef<unsigned> getFirstCopies() const { return firstCopies; }
  unsigned getStatesInPlace() const { return statesInPlace; }
  llvm::ArrayRef<OwnOutput> getOwnOutputs() const { return ownOutputs; }

  /// Returns whether a buffer is of parameters that ranks have shards of: they
  /// are gathered again where a copy reads them.
  bool isGathered(unsigned buffer) const;
  /// Returns whether a node after `cut` reads the buffer.
  bool isReadLate(unsigned buffer, unsigned cut) const;
  /// Returns the slice that recomputes results of a node, given that its other
  /// results, except those in the buffers `again`, are available to late
  /// readers.
  FusionSlice getSlice(unsigned node, const llvm::SmallBitVector &results,
                       const llvm::BitVector &again, unsigned cut) const;
  /// Returns the graph in which the buffers `again` are recomputed for readers
  /// after the node `cut`. The copies of nodes come after all nodes; a copy
  /// whose results have no late readers is omitted. Copies of fusions compute
  /// only the results that are read.
  StepGraph withRecomputed(const llvm::BitVector &again, unsigned cut) const;

  /// Returns the nodes `originals` in this order, and each of the others, which
  /// are copies, right before the first node that depends on it.
  llvm::SmallVector<unsigned>
  getLazyOrder(llvm::ArrayRef<unsigned> originals) const;
  /// Returns the nodes in the function's order.
  llvm::SmallVector<unsigned> getProgramOrder() const;
  /// Returns the lifetimes of memory under an order, with sizes that are
  /// multiples of the target's alignment. Without `reuse`, everything is always
  /// live.
  Lifetimes getLifetimes(llvm::ArrayRef<unsigned> order,
                         bool reuse = true) const;
  /// Returns the size of the arena for the function's order.
  int64_t getArenaBytes() const;
  /// Returns true if that is at most so much; faster than to compute it.
  bool fitsArena(int64_t bytes) const;

  /// Moves the operations of the function into the order, with views before
  /// their first reader.
  void applyOrder(llvm::ArrayRef<unsigned> order) const;
  static void applyOrder(Signature signature,
                         llvm::ArrayRef<mlir::Operation *> order);

private:
  /// Creates an empty graph of the same function.
  StepGraph(Signature signature, int64_t alignment, bool sharesRows)
      : signature(signature), alignment(alignment), sharesRows(sharesRows) {}
  void findStates();
  bool canReplace(mlir::BlockArgument oldValue, mlir::Value newValue) const;
  bool mayOverwrite(FusionOp fusion, unsigned operand, unsigned result) const;
  void addNodes(const Target &target);
  void addDependences(mlir::Value value, unsigned reader);
  void addStateOrder();
  bool isCopiedFirst(mlir::OpOperand &result) const;
  bool isInCircle(unsigned index) const;
  void findInPlace(Node &node) const;
  bool isLastReader(unsigned node, unsigned buffer, llvm::ArrayRef<int64_t> at,
                    const NodeTimes &times) const;
  void findParts(unsigned index);

  Signature signature;
  /// The target's alignment, of which the bytes of all lifetimes are multiples.
  int64_t alignment;
  bool sharesRows;
  /// For fusions over rows that were asked about, each operand with each
  /// result: whether the result may be written over the operand.
  mutable llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> overwritable;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  /// The tensors in the state block.
  llvm::DenseMap<mlir::Value, mlir::FlatSymbolRefAttr> inState;
  /// The argument that carries each state.
  llvm::DenseMap<mlir::Attribute, mlir::BlockArgument> currentOf;
  llvm::SmallVector<unsigned> copiedStates, firstCopies;
  llvm::SmallVector<OwnOutput> ownOutputs;
  unsigned statesInPlace = 0;
  llvm::SmallVector<Node, 0> nodes;
  llvm::SmallVector<Buffer, 0> buffers;
  llvm::DenseMap<mlir::Value, unsigned> bufferOf;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_GRAPH_STEPGRAPH_H
