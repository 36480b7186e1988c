// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The gradient of a loop is a loop in the opposite direction, which carries the
// cotangents of the carried values and the sums of those of the captures. It
// reads what its iterations need of the loop's from outputs that are added to
// the loop.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/ReverseMode.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ingot;

/// Returns the type of a stack of `count` tensors of this type.
static RankedTensorType stackOf(Value slice, uint64_t count) {
  SmallVector<int64_t> shape(tensorType(slice).getShape());
  shape.insert(shape.begin(), static_cast<int64_t>(count));
  return RankedTensorType::get(shape, tensorType(slice).getElementType());
}

namespace {

/// Builds the gradient of one loop.
class LoopGradient {
public:
  LoopGradient(LoopOp loop, ArrayRef<Value> cotangents,
               const llvm::BitVector &needed)
      : loop(loop), body(loop.getBlock()), cotangents(cotangents),
        needed(needed), builder(loop.getContext()) {}

  /// Builds the gradient at the builder, and stores the cotangents of operands.
  LogicalResult build(OpBuilder &outside, MutableArrayRef<Value> results);

private:
  Activity findActivity();
  void addSeeds(OpBuilder &outside, Cotangents &within);
  Value cotangentOrZero(const Cotangents &within, Value value);
  void collectResults(const Cotangents &within);
  void bringOver();
  Value bring(Value value);
  void replaceLoop();

  /// A carried value, sequence or capture of the gradient, and its argument.
  struct Operand {
    Value outer;
    BlockArgument argument;
  };
  BlockArgument addArgument(Type type) {
    return gradient->addArgument(type, loop.getLoc());
  }

  LoopOp loop;
  Block &body;
  ArrayRef<Value> cotangents;
  const llvm::BitVector &needed;
  OpBuilder builder;
  /// The body of the gradient; its arguments are sorted when the loop is
  /// created.
  Block *gradient = nullptr;
  SmallVector<Operand> carried, sequences, captures;
  SmallVector<Value> next, outputs;
  /// The operands of the loop whose cotangents are the carried values, and the
  /// outputs.
  SmallVector<unsigned> carriedOf, outputsOf;
  /// The carried values whose cotangents the gradient carries.
  SmallVector<unsigned> active;
  /// The values of the body that the gradient reads from outputs of the loop,
  /// and the numbers of these among the sequences.
  llvm::MapVector<Value, unsigned> saved;
  DenseMap<Value, Value> brought;
};

} // namespace

/// Returns what depends on needed operands, and what the results with
/// cotangents depend on: over all iterations.
Activity LoopGradient::findActivity() {
  unsigned count = loop.countCarried();
  llvm::SetVector<Value> sources, sinks;
  Operation *yield = loop.getYield();
  for (unsigned i : needed.set_bits())
    sources.insert(body.getArgument(i));
  for (auto [i, cotangent] : llvm::enumerate(cotangents))
    if (cotangent)
      sinks.insert(yield->getOperand(i));
  while (true) {
    Activity activity(body, sources.getArrayRef(), sinks.getArrayRef());
    bool changed = false;
    for (unsigned i = 0; i < count; ++i) {
      Value argument = body.getArgument(i), after = yield->getOperand(i);
      if (!isDifferentiable(argument))
        continue;
      if (activity.isDependent(after))
        changed |= sources.insert(argument);
      if (activity.isRelevant(argument))
        changed |= sinks.insert(after);
    }
    if (changed)
      continue;
    for (unsigned i = 0; i < count; ++i)
      if (sources.contains(body.getArgument(i)) &&
          (cotangents[i] || activity.isRelevant(body.getArgument(i))))
        active.push_back(i);
    return activity;
  }
}

/// Adds the cotangents of what the loop's body yields.
void LoopGradient::addSeeds(OpBuilder &outside, Cotangents &within) {
  Location loc = loop.getLoc();
  Operation *yield = loop.getYield();
  for (unsigned i : active) {
    Value initial = cotangents[i];
    if (!initial)
      initial = splatLike(outside, loop.getInitial()[i], 0.0);
    carried.push_back({initial, addArgument(initial.getType())});
    carriedOf.push_back(i);
    within.add(builder, loc, yield->getOperand(i), carried.back().argument);
  }
  for (unsigned i = loop.countCarried(); i < cotangents.size(); ++i) {
    if (!cotangents[i])
      continue;
    Value slice = yield->getOperand(i);
    sequences.push_back({cotangents[i], addArgument(slice.getType())});
    within.add(builder, loc, slice, sequences.back().argument);
  }
}

Value LoopGradient::cotangentOrZero(const Cotangents &within, Value value) {
  Value cotangent = within.get(value);
  return cotangent ? cotangent : splatLike(builder, value, 0.0);
}

void LoopGradient::collectResults(const Cotangents &within) {
  for (unsigned i : active)
    next.push_back(cotangentOrZero(within, body.getArgument(i)));
  unsigned firstCapture = loop.countCarried() + loop.getSequences().size();
  for (unsigned i : needed.set_bits()) {
    if (i < loop.countCarried())
      continue;
    Value cotangent = within.get(body.getArgument(i));
    if (!cotangent)
      continue;
    if (i < firstCapture) {
      outputs.push_back(cotangent);
      outputsOf.push_back(i);
      continue;
    }
    BlockArgument sum = addArgument(cotangent.getType());
    carried.push_back({Value(), sum});
    carriedOf.push_back(i);
    next.push_back(addOrNull(builder, loop.getLoc(), sum, cotangent));
  }
}

/// Returns a value of the loop's body as the gradient's body sees it.
Value LoopGradient::bring(Value value) {
  if (Value known = brought.lookup(value))
    return known;
  Value &result = brought[value];
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned i = argument.getArgNumber(), first = loop.countCarried();
    unsigned firstCapture = first + loop.getSequences().size();
    if (i >= first) {
      auto &operands = i < firstCapture ? sequences : captures;
      operands.push_back({loop->getOperand(i), addArgument(value.getType())});
      return result = operands.back().argument;
    }
  } else if (Operation *def = value.getDefiningOp();
             isa<MovesElements>(def) || matchPattern(def, m_Constant())) {
    // It is as easily made again.
    IRMapping mapping;
    for (Value operand : def->getOperands())
      mapping.map(operand, bring(operand));
    Operation *copy = builder.clone(*def, mapping);
    return brought[value] =
               copy->getResult(cast<OpResult>(value).getResultNumber());
  }
  saved[value] = sequences.size();
  sequences.push_back({Value(), addArgument(value.getType())});
  return result = sequences.back().argument;
}

/// Makes the gradient's body read nothing of the loop's body.
void LoopGradient::bringOver() {
  SmallVector<OpOperand *> reads;
  auto isOfBody = [&](Value value) { return value.getParentBlock() == &body; };
  for (Operation &op : *gradient)
    for (OpOperand &operand : op.getOpOperands())
      if (isOfBody(operand.get()))
        reads.push_back(&operand);
  builder.setInsertionPointToStart(gradient);
  for (OpOperand *read : reads)
    read->set(bring(read->get()));
  for (SmallVector<Value> *values : {&next, &outputs})
    for (Value &value : *values)
      if (isOfBody(value))
        value = bring(value);
}

/// Replaces the loop by one that also returns the saved values.
void LoopGradient::replaceLoop() {
  if (saved.empty())
    return;
  Operation *yield = loop.getYield();
  SmallVector<Value> added;
  SmallVector<Type> types(loop.getResultTypes());
  for (auto [value, sequence] : saved) {
    auto yielded = llvm::drop_begin(yield->getOperands(), loop.countCarried());
    auto same = llvm::find(yielded, value);
    if (same != yielded.end()) {
      sequences[sequence].outer =
          loop.getOutputs()[std::distance(yielded.begin(), same)];
      continue;
    }
    added.push_back(value);
    types.push_back(stackOf(value, loop.getCount()));
  }
  if (added.empty())
    return;
  // The caller may still hold the loop: it is left without uses.
  OpBuilder before(loop);
  auto saving = LoopOp::create(before, loop.getLoc(), types, loop.getCount(),
                               loop.getReverse(), loop.getInitial(),
                               loop.getSequences(), loop.getCaptures());
  IRMapping mapping;
  loop.getBody().cloneInto(&saving.getBody(), mapping);
  Operation *end = saving.getYield();
  for (Value value : added)
    end->insertOperands(end->getNumOperands(), mapping.lookup(value));
  unsigned result = loop.getNumResults();
  for (Value value : added)
    sequences[saved.lookup(value)].outer = saving.getResult(result++);
  for (unsigned i = 0; i < loop.getNumResults(); ++i) {
    Value old = loop.getResult(i), now = saving.getResult(i);
    for (Operand &operand : sequences)
      if (operand.outer == old)
        operand.outer = now;
    old.replaceAllUsesWith(now);
  }
}

LogicalResult LoopGradient::build(OpBuilder &outside,
                                  MutableArrayRef<Value> results) {
  Activity activity = findActivity();
  if (failed(checkGradients(body, activity)))
    return failure();
  Region region;
  gradient = &region.emplaceBlock();
  builder.setInsertionPointToStart(gradient);
  Cotangents within;
  addSeeds(outside, within);
  SmallVector<Operation *> ops = llvm::to_vector_of<Operation *>(
      llvm::make_pointer_range(body.without_terminator()));
  if (failed(addCotangents(ops, builder, activity, within)))
    return failure();
  collectResults(within);
  bringOver();
  builder.setInsertionPointToEnd(gradient);
  replaceLoop();

  Location loc = loop.getLoc();
  // Arguments in the order of the operands.
  SmallVector<BlockArgument> order;
  SmallVector<Value> initial, read, captured;
  SmallVector<Type> types;
  for (Operand &operand : carried) {
    if (!operand.outer)
      operand.outer = splatLike(outside, operand.argument, 0.0);
    initial.push_back(operand.outer);
    types.push_back(operand.outer.getType());
    order.push_back(operand.argument);
  }
  for (Operand &operand : sequences) {
    read.push_back(operand.outer);
    order.push_back(operand.argument);
  }
  for (Operand &operand : captures) {
    captured.push_back(operand.outer);
    order.push_back(operand.argument);
  }
  for (Value output : outputs)
    types.push_back(stackOf(output, loop.getCount()));
  auto reversed = LoopOp::create(outside, loc, types, loop.getCount(),
                                 !loop.getReverse(), initial, read, captured);
  llvm::append_range(next, outputs);
  YieldOp::create(builder, loc, next);
  for (BlockArgument argument : order)
    argument.replaceAllUsesWith(
        gradient->addArgument(argument.getType(), argument.getLoc()));
  gradient->eraseArguments(0, order.size());
  reversed.getBody().takeBody(region);

  for (auto [operand, final] : llvm::zip_equal(carriedOf, reversed.getFinals()))
    results[operand] = needed[operand] ? final : Value();
  for (auto [operand, output] :
       llvm::zip_equal(outputsOf, reversed.getOutputs()))
    results[operand] = output;
  return success();
}

LogicalResult LoopOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                               const llvm::BitVector &needed,
                               MutableArrayRef<Value> operandCotangents) {
  return LoopGradient(*this, cotangents, needed)
      .build(builder, operandCotangents);
}
