// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/graph/FusionSlice.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ingot;

static bool folds(Operation *op) {
  auto body = dyn_cast<ScalarBody>(op);
  return !body || body.isLooped();
}

FusionSlice FusionSlice::of(Operation *op, const llvm::SmallBitVector &results,
                            const llvm::SmallBitVector &available) {
  FusionSlice whole;
  whole.operands.resize(op->getNumOperands(), true);
  whole.others.resize(op->getNumResults());
  auto fusion = dyn_cast<FusionOp>(op);
  if (!fusion || fusion.getKind() == FusionKind::Custom)
    return whole;
  Block &block = fusion.getBody().front();
  for (Operation &inner : block.without_terminator())
    whole.body.push_back(&inner);
  if (results.all())
    return whole;

  // One loop computes elements of one shape.
  Operation *yield = block.getTerminator();
  SmallVector<Value> work;
  for (unsigned result : results.set_bits())
    work.push_back(yield->getOperand(result));
  for (Value value : work)
    if (tensorType(value).getShape() != tensorType(work.front()).getShape())
      return whole;
  DenseMap<Value, unsigned> given;
  for (unsigned result : available.set_bits())
    if (!results.test(result))
      given.try_emplace(yield->getOperand(result), result);

  FusionSlice slice;
  slice.isWhole = false;
  slice.operands.resize(op->getNumOperands());
  slice.others.resize(op->getNumResults());
  DenseSet<Value> seen(work.begin(), work.end());
  DenseSet<Operation *> needed;
  auto need = [&](Value value) {
    auto known = given.find(value);
    if (known != given.end())
      slice.others.set(known->second);
    else if (seen.insert(value).second)
      work.push_back(value);
  };
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      slice.operands.set(argument.getArgNumber());
      continue;
    }
    Operation *def = value.getDefiningOp();
    if (folds(def) && !def->hasTrait<OpTrait::ConstantLike>())
      return whole;
    if (!needed.insert(def).second)
      continue;
    for (Value operand : def->getOperands())
      need(operand);
  }
  for (Operation &inner : block.without_terminator())
    if (needed.contains(&inner))
      slice.body.push_back(&inner);
  return slice;
}

SmallVector<Value> FusionSlice::clone(OpBuilder &builder, Operation *op,
                                      const llvm::SmallBitVector &results,
                                      ValueRange values,
                                      ValueRange otherValues) const {
  if (isWhole) {
    Operation *copy = builder.clone(*op);
    copy->setOperands(values);
    return llvm::to_vector_of<Value>(copy->getResults());
  }
  auto fusion = cast<FusionOp>(op);
  Block &body = fusion.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<Value> inputs, yielded;
  SmallVector<Type> types;
  for (unsigned operand : operands.set_bits())
    inputs.push_back(values[operand]);
  for (unsigned other : others.set_bits())
    inputs.push_back(otherValues[other]);
  for (unsigned result : results.set_bits())
    types.push_back(fusion.getResult(result).getType());
  auto copy = FusionOp::create(
      builder, fusion.getLoc(), types,
      FusionKindAttr::get(builder.getContext(), FusionKind::Loop), inputs,
      /*library=*/{});
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&copy.getBody());
  IRMapping within;
  auto addArgument = [&](Value from) {
    within.map(from, block->addArgument(from.getType(), from.getLoc()));
  };
  for (unsigned operand : operands.set_bits())
    addArgument(body.getArgument(operand));
  for (unsigned other : others.set_bits())
    addArgument(yield->getOperand(other));
  for (Operation *inner : this->body)
    builder.clone(*inner, within);
  for (unsigned result : results.set_bits())
    yielded.push_back(within.lookup(yield->getOperand(result)));
  YieldOp::create(builder, fusion.getLoc(), yielded);

  SmallVector<Value> cloned(op->getNumResults());
  for (auto [i, result] : llvm::enumerate(results.set_bits()))
    cloned[result] = copy.getResult(i);
  return cloned;
}
