// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Plans the kernels of a FusionPlan that compute a matrix in tiles.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/TileSpace.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/fusion/FusionPlan.h"

using namespace mlir;
using namespace ingot;

/// Returns whether two nodes form a kernel that computes a matrix in tiles.
bool FusionPlan::formTile(const FusionNode &a, const FusionNode &b) const {
  SmallVector<Operation *> roots(a.roots);
  llvm::append_range(roots, b.roots);
  if (llvm::any_of(roots, [&](Operation *root) {
        return shards.lookup(root->getResult(0)) != nullptr;
      }))
    return false;
  std::optional<TileSpace> space = TileSpace::of(roots);
  if (!space)
    return false;
  // The bytes of tiles that a kernel keeps until it stores their columns.
  constexpr int64_t mostBytes = 20 << 10;
  int64_t bytes = 0;
  for (Operation *root : roots)
    if (TileSpace::classify(root) == TileResult::Transposed)
      bytes += space->rows * space->columns *
               tensorType(root->getResult(0)).getElementTypeBitWidth() / 8;
  if (bytes > mostBytes)
    return false;
  llvm::SetVector<Operation *> ops;
  ops.insert_range(a.ops);
  ops.insert_range(b.ops);
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted, [&](Operation *x, Operation *y) {
    return position.lookup(x) < position.lookup(y);
  });
  return !findTileConflict(*space, sorted, roots);
}

/// Returns whether kernels that compute matrices in tiles are all that reads
/// the value, as far as their results tell.
bool FusionPlan::isReadByTiles(Value value) const {
  bool isExchanged = false;
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value current = work.pop_back_val();
    for (Operation *user : current.getUsers()) {
      // What a library reads is stored; what is made of the value need not be.
      if (!isComputed(user) && current == value)
        return false;
      if (!isComputed(user) || isa<Reduction>(user))
        continue;
      isExchanged |=
          isStored(user) && TileSpace::classify(user) == TileResult::Transposed;
      for (Value result : user->getResults())
        if (seen.insert(result).second)
          work.push_back(result);
    }
  }
  return isExchanged;
}

/// Returns whether a node belongs to the kernel over rows that makes numbers of
/// each row, which the node reads, or of which one that it reads is made: that
/// kernel has the rows at hand.
bool FusionPlan::readsOwnRows(unsigned node, unsigned depth) const {
  // Of a normalization's gradient, some factors are stored for several readers.
  constexpr unsigned deepest = 3;
  int64_t size =
      tensorType(nodes[node].roots.front()->getResult(0)).getNumElements();
  return llvm::any_of(nodes[node].inputs, [&](Value input) {
    Operation *def = input.getDefiningOp();
    unsigned maker = def ? nodeOf.lookup(def) : node;
    if (maker == node)
      return false;
    if (isReduction(def))
      return mergedKind(maker, node) == FusionKind::Row;
    return nodes[maker].kind == FusionKind::Loop && depth < deepest &&
           tensorType(input).getNumElements() == size &&
           !areApart(maker, node) && readsOwnRows(maker, depth + 1);
  });
}

/// A matrix that is stored with its dimensions exchanged becomes a kernel with
/// the other loops and reductions that read what it reads, or that make it.
void FusionPlan::formTiles() {
  DenseMap<Value, SmallVector<unsigned>> readersOf;
  for (auto [i, node] : llvm::enumerate(nodes))
    for (Value input : node.inputs)
      readersOf[input].push_back(i);
  auto isLoop = [&](unsigned i) {
    const FusionNode &node = nodes[i];
    return !node.roots.empty() && (node.kind == FusionKind::Loop ||
                                   node.kind == FusionKind::Reduction ||
                                   node.kind == FusionKind::Tile);
  };
  for (unsigned first = 0; first < nodes.size(); ++first) {
    if (nodes[first].kind != FusionKind::Loop || nodes[first].roots.empty() ||
        !TileSpace::of(nodes[first].roots))
      continue;
    unsigned tile = first;
    int64_t size =
        tensorType(nodes[tile].roots.front()->getResult(0)).getNumElements();
    // Merges the tile with one other node.
    auto grow = [&] {
      llvm::SmallSetVector<unsigned, 8> candidates;
      for (Value input : nodes[tile].inputs) {
        if (tensorType(input).getNumElements() != size)
          continue;
        if (Operation *def = input.getDefiningOp())
          candidates.insert(nodeOf[def]);
        candidates.insert_range(readersOf.lookup(input));
      }
      for (Operation *root : nodes[tile].roots)
        for (Value result : root->getResults())
          candidates.insert_range(readersOf.lookup(result));
      for (unsigned other : candidates) {
        if (other == tile || !isLoop(other) ||
            !canMerge(nodes[tile], nodes[other]) ||
            !formTile(nodes[tile], nodes[other]))
          continue;
        if (readsOwnRows(other)) {
          remark::missed(nodes[other].roots.front()->getLoc(),
                         remarkOptions("form-fusions", "Tiles"))
              << remark::reason("the kernel that has its rows at hand stores "
                                "it, and tiles read it again");
          continue;
        }
        // What reads the tile may be before it in the program: the nodes that
        // it took over are.
        bool feeds = graph.reaches(tile, other, /*skipDirect=*/false);
        unsigned from = feeds ? tile : other, into = feeds ? other : tile;
        if (areApart(from, into))
          continue;
        absorb(from, into, FusionKind::Tile);
        tile = into;
        return true;
      }
      return false;
    };
    while (grow())
      ;
    // Threads that exchange single elements of 8 bits move a byte at a time;
    // tiles are moved in vectors.
    Operation *root = nodes[tile].roots.front();
    if (tile == first && nodes[tile].kind == FusionKind::Loop &&
        tensorType(root->getResult(0)).getElementTypeBitWidth() == 8 &&
        isa<FloatType>(tensorType(root->getResult(0)).getElementType()) &&
        !findTileConflict(*TileSpace::of(nodes[tile].roots), nodes[tile].ops,
                          nodes[tile].roots))
      nodes[tile].kind = FusionKind::Tile;
  }
}
