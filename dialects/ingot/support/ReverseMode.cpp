// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/support/ReverseMode.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"

using namespace mlir;
using namespace ingot;

bool ingot::isDifferentiable(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

Activity::Activity(Block &block, ArrayRef<Value> sources,
                   ArrayRef<Value> sinks) {
  dependent.insert_range(sources);
  for (Operation &op : block.without_terminator())
    if (llvm::any_of(op.getOperands(),
                     [&](Value v) { return dependent.contains(v); }))
      // Integers and booleans have no gradient.
      for (Value result : op.getResults())
        if (isDifferentiable(result))
          dependent.insert(result);

  relevant.insert_range(sinks);
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (llvm::any_of(op.getResults(),
                     [&](Value v) { return relevant.contains(v); }))
      for (Value operand : op.getOperands())
        if (isDifferentiable(operand))
          relevant.insert(operand);
}

/// Returns true for an op whose result repeats elements of its operand.
static bool repeatsElements(Operation *op) {
  return isa_and_present<MovesElements>(op) &&
         tensorType(op->getOperand(0)).getNumElements() <
             tensorType(op->getResult(0)).getNumElements();
}

ArrayRef<Value> Cotangents::getParts(Value value) const {
  auto found = parts.find(value);
  return found == parts.end() ? ArrayRef<Value>() : found->second;
}

Value Cotangents::get(Value value) const {
  ArrayRef<Value> found = getParts(value);
  return found.empty() ? Value() : found.front();
}

void Cotangents::add(OpBuilder &builder, Location loc, Value value,
                     Value cotangent) {
  SmallVector<Value, 1> &known = parts[value];
  if (known.empty() || repeatsElements(value.getDefiningOp()))
    known.push_back(cotangent);
  else
    known.front() = addOrNull(builder, loc, known.front(), cotangent);
}

LogicalResult ingot::checkGradients(Block &block, const Activity &activity) {
  auto isActive = [&](Value value) { return activity.isActive(value); };
  SmallVector<Operation *> without;
  for (Operation &op : block.without_terminator())
    if (!isa<Differentiable>(op) && llvm::any_of(op.getOperands(), isActive) &&
        llvm::any_of(op.getResults(), isActive))
      without.push_back(&op);
  if (without.empty())
    return success();
  std::string names;
  llvm::raw_string_ostream os(names);
  llvm::interleaveComma(without, os, [&](Operation *op) {
    os << op->getName();
    if (std::string where = describeLocation(op->getLoc()); !where.empty())
      os << " (" << where << ")";
  });
  return emitUserError(
      without.front()->getLoc(),
      "no gradient is defined for operations that the loss depends on: " +
          names,
      "freeze the parameters before them with --freeze, or choose another "
      "loss");
}

/// Differentiates one op; returns whether a cotangent reaches it.
static FailureOr<bool> differentiate(Operation *op, OpBuilder &builder,
                                     const Activity &activity,
                                     Cotangents &cotangents) {
  llvm::BitVector needed(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (activity.isActive(operand))
      needed.set(i);
  SmallVector<SmallVector<Value>> rounds;
  if (repeatsElements(op)) {
    for (Value part : cotangents.getParts(op->getResult(0)))
      rounds.push_back({part});
  } else {
    rounds.push_back(llvm::map_to_vector(
        op->getResults(), [&](Value v) { return cotangents.get(v); }));
    if (llvm::none_of(rounds.front(),
                      [](Value value) { return static_cast<bool>(value); }))
      return false;
  }
  if (needed.none() || rounds.empty())
    return false;

  for (ArrayRef<Value> resultCotangents : rounds) {
    SmallVector<Value> operandCotangents(op->getNumOperands());
    if (failed(cast<Differentiable>(op).buildVjp(builder, resultCotangents,
                                                 needed, operandCotangents)))
      return failure();
    for (unsigned i : needed.set_bits())
      if (operandCotangents[i])
        cotangents.add(builder, op->getLoc(), op->getOperand(i),
                       operandCotangents[i]);
  }
  return true;
}

FailureOr<unsigned> ingot::addCotangents(ArrayRef<Operation *> ops,
                                         OpBuilder &builder,
                                         const Activity &activity,
                                         Cotangents &cotangents) {
  unsigned count = 0;
  for (Operation *op : llvm::reverse(ops)) {
    FailureOr<bool> built = differentiate(op, builder, activity, cotangents);
    if (failed(built))
      return failure();
    count += *built;
  }
  return count;
}
