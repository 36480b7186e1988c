// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cpu/streams/Streams.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

int64_t codegen::bytesOf(MemRefType type) {
  int64_t bits = std::max(8u, type.getElementTypeBitWidth());
  return type.getNumElements() * bits / 8;
}

SmallVector<scf::ForOp> codegen::findInnermostLoops(func::FuncOp function) {
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) {
    bool isInnermost = true;
    loop.getBody()->walk([&](scf::ForOp) { isInnermost = false; });
    APInt step;
    if (isInnermost && matchPattern(loop.getStep(), m_ConstantInt(&step)) &&
        step.isOne())
      loops.push_back(loop);
  });
  return loops;
}

std::optional<int64_t> codegen::findStride(Value index, scf::ForOp loop) {
  if (index == loop.getInductionVar())
    return 1;
  if (!loop.getRegion().isAncestor(index.getParentRegion()))
    return 0;
  Operation *op = index.getDefiningOp();
  if (!op) {
    auto inner = dyn_cast<scf::ForOp>(index.getParentBlock()->getParentOp());
    bool isCounter = inner && index == inner.getInductionVar();
    return isCounter ? std::optional<int64_t>(0) : std::nullopt;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<int64_t> lhs = findStride(op->getOperand(0), loop);
  std::optional<int64_t> rhs = findStride(op->getOperand(1), loop);
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *lhs + *rhs;
  if (isa<arith::SubIOp>(op))
    return *lhs - *rhs;
  APInt factor;
  if (matchPattern(op->getOperand(1), m_ConstantInt(&factor)))
    return *lhs * factor.getSExtValue();
  if (matchPattern(op->getOperand(0), m_ConstantInt(&factor)))
    return *rhs * factor.getSExtValue();
  return *lhs == 0 && *rhs == 0 ? std::optional<int64_t>(0) : std::nullopt;
}

static Value copyWith(OpBuilder &builder, Value index, scf::ForOp loop,
                      IRMapping &mapping) {
  if (mapping.contains(index) || loop.isDefinedOutsideOfLoop(index))
    return mapping.lookupOrDefault(index);
  Operation *op = index.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, copyWith(builder, operand, loop, mapping));
  return builder.clone(*op, mapping)->getResult(0);
}

Value codegen::copyIndex(OpBuilder &builder, Value index, scf::ForOp loop,
                         Value at) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), at);
  return copyWith(builder, index, loop, mapping);
}

scf::ForOp codegen::cutLoop(scf::ForOp loop, int64_t piece) {
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  Value size = arith::ConstantIndexOp::create(builder, loc, piece);
  auto pieces =
      scf::ForOp::create(builder, loc, loop.getLowerBound(),
                         loop.getUpperBound(), size, loop.getInitArgs());
  loop.replaceAllUsesWith(pieces.getResults());
  Block *body = pieces.getBody();
  builder.setInsertionPointToStart(body);
  Value from = pieces.getInductionVar();
  Value to = arith::MinSIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, from, size),
      loop.getUpperBound());
  // A loop without results already has a terminator.
  if (pieces.getNumResults() == 0)
    loop->moveBefore(body->getTerminator());
  else
    loop->moveBefore(body, body->end());
  loop.setLowerBound(from);
  loop.setUpperBound(to);
  loop.getInitArgsMutable().assign(pieces.getRegionIterArgs());
  if (pieces.getNumResults() > 0) {
    builder.setInsertionPointToEnd(body);
    scf::YieldOp::create(builder, loc, loop.getResults());
  }
  return pieces;
}
