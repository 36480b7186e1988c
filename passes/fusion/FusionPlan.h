// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Decides which values are stored, and which stored values share a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_FUSION_FUSIONPLAN_H
#define INGOT_PASSES_FUSION_FUSIONPLAN_H

#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/analysis/Shards.h"
#include "dialects/ingot/target/Target.h"
#include "passes/fusion/KernelGraph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <functional>

namespace ingot {

struct FusionLimits {
  bool each = false;
  bool rows = true;
  bool epilogues = true;
  /// The library to whose epilogues fusion is limited; null if epilogues are
  /// generated.
  const EpilogueLibrary *library = nullptr;
  /// The kernels of the target, which say of matmuls of that library whether
  /// generated ones are faster; null if there are none.
  const TargetKernels *kernels = nullptr;
  /// Whether a kernel may compute a matrix in tiles.
  bool tiles = false;
  /// Whether generated kernels are taken wherever there are some.
  bool forcesKernels = false;
  unsigned maxOps = 200;
  /// The maximum number of inputs, and of roots, of merged nodes: each is a
  /// pointer, which the compiler compares with all the others.
  unsigned maxInputs = 48;
  /// The maximum number of ops that are computed for one root, and of their
  /// reads of inputs.
  unsigned maxRootOps = 128;
  /// The operations for whose time a kernel could be launched, where each
  /// element computes anew what its column has in common; 0 where kernels
  /// compute that once.
  double opsOfLaunch = 0;
  /// Whether kernels merge partial results of reductions that are several
  /// values; otherwise a thread computes such a reduction in a loop.
  bool mergesPartials = false;
  /// Whether a kernel over rows may add up the rows of a space as well; null if
  /// none may.
  std::function<bool(const RowSpace &)> sumsRows = {};
};

/// A node of the schedule, which is executed as a unit.
struct FusionNode {
  /// The kind of the `ingot.fusion` that the node becomes; nothing for a single
  /// op that is not fused: a library call, a view, a constant in memory.
  std::optional<FusionKind> kind;
  /// The roots in program order; the op itself if it is not fused.
  llvm::SmallVector<mlir::Operation *> roots;
  /// The stored values that the node reads.
  llvm::SetVector<mlir::Value> inputs;
  /// All ops of the node in program order: the roots and the ops computed
  /// within it.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The number of operands of these ops: each is code of its own.
  unsigned reads = 0;
  /// The description of an Epilogue for libraries with fixed epilogues.
  std::optional<LibraryEpilogue> library;
};

/// The plan for one block of primitives.
class FusionPlan {
public:
  /// Plans the block; `shards` are those of its function. A kernel computes
  /// within one shard only.
  FusionPlan(mlir::Block &block, const Shards &shards,
             const FusionLimits &limits);

  /// Returns the nodes in an order in which they can be executed.
  llvm::ArrayRef<FusionNode> getNodes() const { return nodes; }

private:
  bool isFree(mlir::Operation *op) const;
  bool isView(mlir::Operation *op) const;
  bool isComputed(mlir::Operation *op) const;
  bool isLooped(mlir::Operation *op) const;
  bool isReduction(mlir::Operation *op) const;
  bool isStored(mlir::Operation *op) const { return stored.contains(op); }

  void chooseStored();
  void storeDeep();
  bool isWithin(mlir::Operation *op) const;
  llvm::SmallVector<mlir::Operation *>
  findTerms(const llvm::SetVector<mlir::Operation *> &ops) const;
  void storeShared();
  void storeColumns();
  void storeChosen();
  void findBlockGroups();
  bool isInBlocks(mlir::Operation *op) const;
  llvm::StringRef refuseBlocks(llvm::ArrayRef<unsigned> members) const;
  void formBlocks();
  void store(mlir::Operation *op);
  void storeThroughViews(mlir::Operation *op);
  void createNodes();
  void gather(FusionNode &node) const;
  void formTiles();
  bool formTile(const FusionNode &a, const FusionNode &b) const;
  bool isReadByTiles(mlir::Value value) const;
  bool readsOwnRows(unsigned node, unsigned depth = 0) const;
  bool canMerge(const FusionNode &a, const FusionNode &b) const;
  bool areApart(unsigned earlier, unsigned later) const;
  void mergeNodes();
  std::optional<FusionKind> mergedKind(unsigned earlier, unsigned later) const;
  bool formRows(const FusionNode &a, const FusionNode &b, bool reads) const;
  bool separatesRows(unsigned earlier, unsigned later) const;
  void absorb(unsigned earlier, unsigned later, FusionKind kind);
  void formEpilogues();
  void formMatmulKernels();
  llvm::StringRef refuseMatmulKernel(unsigned anchor, unsigned reader,
                                     MatmulKernel &kernel) const;
  mlir::Operation *findAnchor(unsigned node) const;
  llvm::StringRef refuseEpilogue(unsigned anchor, unsigned reader) const;
  void chooseLibraryEpilogues();
  bool hasOtherReaders(mlir::Value matmul,
                       const LibraryEpilogue &epilogue) const;
  void formLibraryEpilogues();
  bool mergeExtra(unsigned matmul, unsigned extra);
  void formBiasGradients();
  llvm::StringRef formBiasGradient(mlir::Operation *call,
                                   const BiasGradient &gradient);
  llvm::StringRef formLibraryEpilogue(mlir::Operation *call,
                                      const LibraryEpilogue &epilogue);
  void dropUnreadRoots();
  bool readsPointwise(const FusionNode &reader, const FusionNode &node) const;
  void sortNodes();

  std::pair<mlir::Type, mlir::Attribute>
  getIterationSpace(const FusionNode &node) const;

  mlir::Block &block;
  const Shards &shards;
  FusionLimits limits;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  /// The ops whose results are stored in memory.
  llvm::DenseSet<mlir::Operation *> stored;
  /// The stored ops that one kernel over blocks computes, by any of them.
  llvm::EquivalenceClasses<mlir::Operation *> blockGroups;
  llvm::SmallVector<FusionNode, 0> nodes;
  /// The node that stores an op's results.
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;
  KernelGraph graph;
  /// The library calls with the epilogues that are planned for them.
  llvm::SmallVector<std::pair<mlir::Operation *, LibraryEpilogue>>
      libraryEpilogues;
  /// The reductions that could be computed with a library call, and the reason
  /// why the call has no epilogue.
  struct MatmulSums {
    mlir::Operation *call = nullptr;
    llvm::SmallVector<BiasGradient> candidates;
    llvm::StringRef reason;
  };
  llvm::SmallVector<MatmulSums, 0> matmulSums;
};

} // namespace ingot

#endif // INGOT_PASSES_FUSION_FUSIONPLAN_H
