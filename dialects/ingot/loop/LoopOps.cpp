// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Signature.h"

using namespace mlir;
using namespace ingot;

/// Returns the type of one slice of a stack of slices.
static Type sliceOf(Type stack) {
  return ingot::dropDims(cast<RankedTensorType>(stack), {0});
}

/// Checks the operands and results of a loop, and that these types of
/// arguments and yielded values are those of its body.
template <typename Op>
static LogicalResult verifyIteration(Op op, TypeRange arguments,
                                     TypeRange yielded) {
  if (op.getNumResults() < op.getInitial().size())
    return op.emitOpError("C1: has ")
           << op.getInitial().size() << " carried values and only "
           << op.getNumResults() << " results";
  auto count = static_cast<int64_t>(op.getCount());
  auto isStack = [&](Value value) {
    RankedTensorType type = tensorType(value);
    return type.getRank() > 0 && type.getDimSize(0) == count;
  };
  for (Value sequence : op.getSequences())
    if (!isStack(sequence))
      return op.emitOpError("C2: a sequence must have one slice for each of ")
             << count << " iterations, got " << sequence.getType();
  for (Value output : op.getOutputs())
    if (!isStack(output))
      return op.emitOpError("C2: an output must have one slice for each of ")
             << count << " iterations, got " << output.getType();
  SmallVector<Type> taken(op.getInitial().getTypes()), given(taken);
  for (Type type : op.getSequences().getTypes())
    taken.push_back(sliceOf(type));
  llvm::append_range(taken, op.getCaptures().getTypes());
  for (Type type : op.getOutputs().getTypes())
    given.push_back(sliceOf(type));
  if (op.getFinals().getTypes() != op.getInitial().getTypes())
    return op.emitOpError("C1: a carried value must keep its type, want ")
           << op.getInitial().getTypes() << ", got "
           << op.getFinals().getTypes();
  if (arguments != TypeRange(taken))
    return op.emitOpError("C3: the body must take ")
           << taken << ", got " << arguments;
  if (yielded != TypeRange(given))
    return op.emitOpError("C4: the body must yield ")
           << given << ", got " << yielded;
  return success();
}

//===----------------------------------------------------------------------===//
// loop
//===----------------------------------------------------------------------===//

LogicalResult LoopOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getYield());
  if (!yield)
    return emitOpError("C4: the body must end in ingot.yield");
  return verifyIteration(*this, getBlock().getArgumentTypes(),
                         yield.getValues().getTypes());
}

Block::BlockArgListType LoopOp::getCarriedArguments() {
  return getBlock().getArguments().take_front(countCarried());
}

Block::BlockArgListType LoopOp::getSliceArguments() {
  return getBlock().getArguments().slice(countCarried(), getSequences().size());
}

Block::BlockArgListType LoopOp::getCaptureArguments() {
  return getBlock().getArguments().take_back(getCaptures().size());
}

BlockArgument LoopOp::addCapture(Value value) {
  getCapturesMutable().append(value);
  return getBlock().addArgument(value.getType(), value.getLoc());
}

//===----------------------------------------------------------------------===//
// repeat
//===----------------------------------------------------------------------===//

LogicalResult RepeatOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getBodyAttr());
  if (!function || function.isExternal())
    return emitOpError("C5: ") << getBodyAttr() << " is no function";
  // States follow the arguments that operands are for.
  size_t operands = getNumOperands();
  if (function.getNumArguments() < operands)
    return emitOpError("C3: the body must take ")
           << operands << " values, got " << function.getNumArguments();
  return verifyIteration(*this,
                         function.getArgumentTypes().take_front(operands),
                         function.getResultTypes());
}

func::FuncOp ingot::findBody(RepeatOp op) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op,
                                                            op.getBodyAttr());
}
