// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/builders/Loops.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

LoopBuilder::LoopBuilder(Location loc, int64_t count, bool reverse,
                         ValueRange initial, ValueRange sequences)
    : loc(loc), count(count), reverse(reverse), initial(initial),
      sequences(sequences) {
  Block &block = region.emplaceBlock();
  for (Value value : initial)
    block.addArgument(value.getType(), value.getLoc());
  for (Value value : sequences)
    block.addArgument(dropDims(tensorType(value), {0}), value.getLoc());
}

ValueRange LoopBuilder::getCarried() {
  return getBlock().getArguments().take_front(initial.size());
}

ValueRange LoopBuilder::getSlices() {
  return getBlock().getArguments().slice(initial.size(), sequences.size());
}

LoopOp LoopBuilder::finish(OpBuilder &builder, ValueRange yielded) {
  Block &block = getBlock();
  OpBuilder inside(loc.getContext());
  inside.setInsertionPointToEnd(&block);
  YieldOp::create(inside, loc, yielded);

  SmallVector<Value> captures;
  DenseMap<Value, Value> known;
  auto bring = [&](Value value) {
    Value &inner = known[value];
    if (inner)
      return inner;
    DenseElementsAttr constant;
    if (matchPattern(value, m_Constant(&constant)) && constant.isSplat()) {
      inside.setInsertionPointToStart(&block);
      inner = ConstantOp::create(inside, value.getLoc(), tensorType(value),
                                 constant);
    } else {
      captures.push_back(value);
      inner = block.addArgument(value.getType(), value.getLoc());
    }
    return inner;
  };
  // Constants are inserted before what is visited.
  SmallVector<OpOperand *> outer;
  for (Operation &op : block)
    for (OpOperand &operand : op.getOpOperands())
      if (operand.get().getParentBlock() != &block)
        outer.push_back(&operand);
  for (OpOperand *operand : outer)
    operand->set(bring(operand->get()));

  SmallVector<Type> types;
  for (auto [i, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    RankedTensorType type = tensorType(value);
    if (i >= initial.size()) {
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin(), count);
      type = RankedTensorType::get(shape, type.getElementType());
    }
    types.push_back(type);
  }
  auto loop = LoopOp::create(builder, loc, types, count, reverse, initial,
                             sequences, captures);
  loop.getBody().takeBody(region);
  return loop;
}
