// SPDX-License-Identifier: Apache-2.0

#include "passes/parallel/ParameterReads.h"

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace ingot;

/// Returns whether the op computes each element from the one at its index.
static bool readsElement(OpOperand &use) {
  Operation *op = use.getOwner();
  if (op->hasTrait<SameBytes>())
    return true;
  auto body = dyn_cast<ScalarBody>(op);
  return body && !isa<LibraryCall>(op) &&
         body.readsPointwise(use.getOperandNumber());
}

ParameterReads::ParameterReads(Block &block,
                               llvm::function_ref<bool(Value)> isSharded)
    : block(block) {
  for (Operation &op : llvm::reverse(block)) {
    unsigned need = Nothing;
    for (Value result : op.getResults())
      for (OpOperand &use : result.getUses())
        need |= getNeed(use);
    needs[&op] = llvm::any_of(op.getResults(), isSharded) ? Shard : need;
  }
}

unsigned ParameterReads::getNeed(OpOperand &use) const {
  if (isa<ShardSquareSumOp>(use.getOwner()))
    return Shard;
  return readsElement(use) ? needs.lookup(use.getOwner()) : unsigned(Whole);
}

bool ParameterReads::isReadWhole(OpOperand &use) const {
  return (getNeed(use) & Whole) != 0;
}

bool ParameterReads::isReadWhole(Value value) const {
  return llvm::any_of(value.getUses(),
                      [&](OpOperand &use) { return isReadWhole(use); });
}

void ParameterReads::separate(ArrayRef<Value> parameters) {
  llvm::DenseSet<Value> derived(llvm::from_range, parameters);
  for (Operation &op : block)
    if (llvm::any_of(op.getOpOperands(), [&](OpOperand &use) {
          return derived.contains(use.get()) && readsElement(use);
        }))
      derived.insert_range(op.getResults());
  // Readers first: each of them then needs one of the two.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (needs.lookup(&op) != (Shard | Whole) ||
        llvm::none_of(op.getResults(),
                      [&](Value result) { return derived.contains(result); }))
      continue;
    OpBuilder builder(&op);
    Operation *own = builder.clone(op);
    needs[own] = Shard;
    needs[&op] = Whole;
    for (auto [result, copy] :
         llvm::zip_equal(op.getResults(), own->getResults()))
      result.replaceUsesWithIf(
          copy, [&](OpOperand &use) { return getNeed(use) == Shard; });
  }
}
