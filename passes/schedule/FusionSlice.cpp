#include "passes/schedule/FusionSlice.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ingot;

/// A loop fusion of which only a part is wanted; null otherwise. Other kinds
/// stay whole: how a reduction goes over its space may depend on all results.
static FusionOp getSliced(Operation *op, const llvm::SmallBitVector &results) {
  auto fusion = dyn_cast<FusionOp>(op);
  if (!fusion || results.all() || fusion.getKind() != FusionKind::Loop)
    return {};
  return fusion;
}

/// The body's operations and arguments behind the results.
static DenseSet<Value> findNeeded(FusionOp fusion,
                                  const llvm::SmallBitVector &results) {
  Operation *yield = fusion.getBody().front().getTerminator();
  DenseSet<Value> needed;
  SmallVector<Value> work;
  for (unsigned result : results.set_bits())
    work.push_back(yield->getOperand(result));
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!needed.insert(value).second)
      continue;
    if (Operation *def = value.getDefiningOp())
      llvm::append_range(work, def->getOperands());
  }
  return needed;
}

llvm::SmallBitVector
ingot::neededOperands(Operation *op, const llvm::SmallBitVector &results) {
  llvm::SmallBitVector operands(op->getNumOperands(), true);
  FusionOp fusion = getSliced(op, results);
  if (!fusion)
    return operands;
  DenseSet<Value> needed = findNeeded(fusion, results);
  for (BlockArgument argument : fusion.getBody().getArguments())
    if (!needed.contains(argument))
      operands.reset(argument.getArgNumber());
  return operands;
}

SmallVector<Value> ingot::cloneResults(OpBuilder &builder, Operation *op,
                                       const llvm::SmallBitVector &results,
                                       ValueRange operands) {
  FusionOp fusion = getSliced(op, results);
  if (!fusion) {
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    return llvm::to_vector_of<Value>(copy->getResults());
  }
  Block &body = fusion.getBody().front();
  DenseSet<Value> needed = findNeeded(fusion, results);
  llvm::SmallBitVector kept = neededOperands(op, results);
  SmallVector<Value> inputs, yielded;
  SmallVector<Type> types;
  for (unsigned operand : kept.set_bits())
    inputs.push_back(operands[operand]);
  for (unsigned result : results.set_bits())
    types.push_back(fusion.getResult(result).getType());
  auto copy = FusionOp::create(builder, fusion.getLoc(), types,
                               fusion.getKindAttr(), inputs);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&copy.getBody());
  IRMapping within;
  for (unsigned operand : kept.set_bits()) {
    BlockArgument argument = body.getArgument(operand);
    within.map(argument,
               block->addArgument(argument.getType(), argument.getLoc()));
  }
  for (Operation &inner : body.without_terminator())
    if (llvm::any_of(inner.getResults(),
                     [&](Value v) { return needed.contains(v); }))
      builder.clone(inner, within);
  for (unsigned result : results.set_bits())
    yielded.push_back(within.lookup(body.getTerminator()->getOperand(result)));
  YieldOp::create(builder, fusion.getLoc(), yielded);

  SmallVector<Value> values(op->getNumResults());
  for (auto [i, result] : llvm::enumerate(results.set_bits()))
    values[result] = copy.getResult(i);
  return values;
}
