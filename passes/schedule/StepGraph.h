//===----------------------------------------------------------------------===//
//
// A function of fusions, anchors and views as the schedule sees it: operations
// that read and write buffers, what must come before what, and how long
// buffers live under an order.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_STEPGRAPH_H
#define INGOT_PASSES_SCHEDULE_STEPGRAPH_H

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/target/Target.h"
#include "passes/schedule/arena/Arena.h"
#include "passes/schedule/recompute/FusionSlice.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ingot {

/// The graph of one function, from its present order.
class StepGraph {
public:
  /// A tensor in the arena.
  struct Buffer {
    mlir::Value value;
    int64_t bytes = 0;
    /// The node that writes it, or -1 for an input.
    int64_t writer = -1;
    /// Nodes that read it, each once.
    llvm::SmallVector<unsigned, 4> readers;
    /// Returned, or an input, which is there before and after the step.
    bool isKept = false;
    /// The bucket in whose memory it is, or -1, and at which byte.
    int64_t bucket = -1, offset = 0;
  };

  /// A result that may be written over an operand's memory.
  struct InPlace {
    unsigned result, operand;
  };

  /// An operation that runs: everything but views.
  struct Node {
    mlir::Operation *op = nullptr;
    /// Buffers, each once.
    llvm::SmallSetVector<unsigned, 4> reads, writes;
    llvm::SmallVector<InPlace, 2> inPlace;
    /// Nodes that must come after: readers of its results, and the writers of
    /// the states that it reads.
    llvm::SmallSetVector<unsigned, 4> successors;
    llvm::SmallVector<unsigned, 2> stateWriters;
    int64_t scratchBytes = 0;
    /// Whether it writes a state in its place.
    bool writesState = false;
    /// The node that it does again, or -1; of a fusion perhaps only some
    /// results.
    int64_t original = -1;
    llvm::SmallBitVector results;
    /// Results of the original that it reads.
    llvm::SmallBitVector others;
  };

  /// A result of the function that needs memory of its own at the end: an
  /// input, a state, or another output.
  struct OwnOutput {
    unsigned result;
    int64_t bytes;
  };

  /// How long memory lives under an order; instants are positions in it.
  struct Lifetimes {
    llvm::SmallVector<Interval> intervals;
    /// The interval of each buffer; a result written in place has its
    /// operand's.
    llvm::SmallVector<unsigned> ofBuffer;
    /// The interval of each node's scratch, or -1.
    llvm::SmallVector<int64_t> ofScratch;
    /// The interval of each of the function's own outputs.
    llvm::SmallVector<unsigned> ofOutput;
  };

  /// Operations have the work memory that they want on the target.
  StepGraph(Signature signature, const Target &target);

  Signature getSignature() const { return signature; }
  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  llvm::ArrayRef<Buffer> getBuffers() const { return buffers; }

  /// Returns the buffer of a value; none if it is a state's memory.
  std::optional<unsigned> getBuffer(mlir::Value value) const;
  /// Returns the state in whose place a value is; null if it is in the arena.
  mlir::FlatSymbolRefAttr getState(mlir::Value value) const;
  /// New values of states that are not written in place, by result number.
  llvm::ArrayRef<unsigned> getCopiedStates() const { return copiedStates; }
  unsigned getStatesInPlace() const { return statesInPlace; }
  llvm::ArrayRef<OwnOutput> getOwnOutputs() const { return ownOutputs; }

  /// Returns whether a node after `cut` reads the buffer.
  bool isReadLate(unsigned buffer, unsigned cut) const;
  /// Returns how results of a node are computed again, where its other results,
  /// if not in the buffers `again`, are there for late readers.
  FusionSlice getSlice(unsigned node, const llvm::SmallBitVector &results,
                       const llvm::BitVector &again, unsigned cut) const;
  /// Returns the graph in which the buffers `again` are computed a second time,
  /// for readers after the node `cut`. The copies of nodes come after all
  /// nodes; one whose results nobody reads late is left out. Copies of fusions
  /// compute only what is read.
  StepGraph withRecomputed(const llvm::BitVector &again, unsigned cut) const;

  /// Returns the nodes `originals` in this order, and each of the others, which
  /// are copies, right before the first that needs it.
  llvm::SmallVector<unsigned>
  getLazyOrder(llvm::ArrayRef<unsigned> originals) const;
  /// Nodes in the function's order.
  llvm::SmallVector<unsigned> getProgramOrder() const;
  /// Without `reuse`, everything lives always.
  Lifetimes getLifetimes(llvm::ArrayRef<unsigned> order,
                         bool reuse = true) const;
  /// Of the arena in the function's order.
  int64_t getArenaBytes() const;

  /// Moves the function's operations into the order, views before their first
  /// reader.
  void applyOrder(llvm::ArrayRef<unsigned> order) const;
  static void applyOrder(Signature signature,
                         llvm::ArrayRef<mlir::Operation *> order);

private:
  /// Empty, of the same function.
  explicit StepGraph(Signature signature) : signature(signature) {}
  void findStates();
  bool canReplace(mlir::BlockArgument oldValue, mlir::Value newValue) const;
  void addNodes(const Target &target);
  void addDependences(mlir::Value value, unsigned reader);
  void addStateOrder();
  void findInPlace(Node &node) const;
  void findParts(unsigned index);

  Signature signature;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  /// Tensors that live in the state block.
  llvm::DenseMap<mlir::Value, mlir::FlatSymbolRefAttr> inState;
  /// The argument that carries each state.
  llvm::DenseMap<mlir::Attribute, mlir::BlockArgument> currentOf;
  llvm::SmallVector<unsigned> copiedStates;
  llvm::SmallVector<OwnOutput> ownOutputs;
  unsigned statesInPlace = 0;
  llvm::SmallVector<Node, 0> nodes;
  llvm::SmallVector<Buffer, 0> buffers;
  llvm::DenseMap<mlir::Value, unsigned> bufferOf;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_STEPGRAPH_H
