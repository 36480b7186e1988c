// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Which nodes are computed block by block: states that are encoded are decoded,
// updated and encoded by one kernel, so that no tensor of decoded numbers is in
// memory.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/fusion/FusionPlan.h"

using namespace mlir;
using namespace ingot;

/// Finds the stored ops that are computed of the same blocks, or of what these
/// have in common.
void FusionPlan::findBlockGroups() {
  for (Operation &op : block) {
    if (!isStored(&op) || !isComputed(&op) || op.hasTrait<SameBytes>())
      continue;
    llvm::SetVector<Operation *> within;
    within.insert(&op);
    for (size_t i = 0; i < within.size(); ++i) {
      if (isa<InBlocks>(within[i]))
        blockGroups.unionSets(&op, within[i]);
      for (Value operand : within[i]->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (isWithin(def))
          within.insert(def);
        else if (def && isa<InBlocks>(def) && isReduction(def))
          blockGroups.unionSets(&op, def);
      }
    }
  }
}

bool FusionPlan::isInBlocks(Operation *op) const {
  return blockGroups.findLeader(op) != blockGroups.member_end();
}

/// Returns why nodes, in their order, cannot be one kernel over blocks; empty
/// if they can.
StringRef FusionPlan::refuseBlocks(ArrayRef<unsigned> members) const {
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> results;
  for (unsigned member : members) {
    ops.insert_range(nodes[member].ops);
    for (Operation *root : nodes[member].roots)
      llvm::append_range(results, root->getResults());
  }
  std::optional<RowSpace> space = RowSpace::of(ops.getArrayRef());
  if (!space || !space->inBlocks)
    return "nothing says how large blocks are";
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted, [&](Operation *a, Operation *b) {
    return position.lookup(a) < position.lookup(b);
  });
  if (RowReads(*space, sorted, results).getConflict())
    return "a part of it reads other blocks";
  return {};
}

/// Makes a kernel of the nodes of each group.
void FusionPlan::formBlocks() {
  llvm::MapVector<Operation *, SmallVector<unsigned>> groups;
  for (auto [number, node] : llvm::enumerate(nodes))
    if (node.kind && isInBlocks(node.roots.front()))
      groups[*blockGroups.findLeader(node.roots.front())].push_back(number);
  for (auto &[leader, members] : groups) {
    StringRef reason = refuseBlocks(members);
    unsigned current = members.front();
    for (unsigned next : ArrayRef(members).drop_front()) {
      if (reason.empty() && areApart(current, next))
        reason = "another kernel comes between its parts";
      if (!reason.empty())
        break;
      absorb(current, next, FusionKind::Row);
      current = next;
    }
    if (!reason.empty())
      remark::missed(nodes[members.back()].roots.front()->getLoc(),
                     remarkOptions("form-fusions", "Blocks"))
          << remark::reason("{0}", reason);
  }
}
