// SPDX-License-Identifier: Apache-2.0

#include "passes/codegen/ElementEmitter.h"

#include "dialects/ingot/builders/Buffers.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

MemRefType codegen::flatType(RankedTensorType type) {
  return MemRefType::get({type.getNumElements()},
                         codeType(type.getElementType()));
}

Value codegen::shapedBuffer(OpBuilder &builder, Location loc, Value buffer,
                            RankedTensorType type) {
  return reshapeBuffer(builder, loc, buffer, type.getShape());
}

void codegen::emitKernelBody(OpBuilder &builder, Location loc,
                             KernelBody kernel, ArrayRef<Value> buffers,
                             Value begin, Value end) {
  llvm::SmallDenseMap<Value, Value> shaped;
  auto shape = [&](Value buffer, Value tensor) {
    Value &view = shaped[buffer];
    if (!view || cast<MemRefType>(view.getType()).getShape() !=
                     tensorType(tensor).getShape())
      view = shapedBuffer(builder, loc, buffer, tensorType(tensor));
    return view;
  };
  SmallVector<Value> inputs, results;
  for (Value operand : kernel->getOperands())
    inputs.push_back(
        shape(buffers[cast<BlockArgument>(operand).getArgNumber()], operand));
  for (auto [buffer, result] : llvm::zip_equal(
           buffers.take_back(kernel->getNumResults()), kernel->getResults()))
    results.push_back(shape(buffer, result));
  kernel.emitKernel(builder, loc, inputs, results, begin, end);
}

bool codegen::takesIndicesApart(scf::ForOp loop) {
  IRRewriter rewriter(loop.getContext());
  auto function = loop->getParentOfType<FunctionOpInterface>();
  (void)runRegionDCE(rewriter, function->getRegions());
  llvm::DenseSet<Value> derived = {loop.getInductionVar()};
  bool apart = false;
  loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!llvm::any_of(op->getOperands(),
                      [&](Value v) { return derived.contains(v); }))
      return;
    if (op->getName().getDialectNamespace() == "arith" &&
        op->getNumResults() == 1 && op->getResult(0).getType().isIndex()) {
      derived.insert(op->getResult(0));
      apart |= isa<arith::DivUIOp, arith::RemUIOp>(op);
    }
  });
  return apart;
}

ElementEmitter::ElementEmitter(exec::KernelOp kernel, OpBuilder &builder,
                               ValueRange inputs)
    : builder(builder), loc(kernel.getLoc()), body(kernel.getBody().front()),
      inputs(inputs) {}

int64_t ElementEmitter::idOf(Value index) {
  IntegerAttr constant;
  Key key;
  Operation *def = index.getDefiningOp();
  if (matchPattern(index, m_Constant(&constant))) {
    key = {0, constant.getInt()};
  } else if (def && def->getName().getDialectNamespace() == "arith" &&
             def->getAttrs().empty()) {
    key = {1, static_cast<int64_t>(reinterpret_cast<intptr_t>(
                  def->getName().getAsOpaquePointer()))};
    for (Value operand : def->getOperands())
      key.push_back(idOf(operand));
  } else {
    key = {2, static_cast<int64_t>(
                  reinterpret_cast<intptr_t>(index.getAsOpaquePointer()))};
  }
  return indexIds.try_emplace(key, static_cast<int64_t>(indexIds.size()))
      .first->second;
}

/// Returns true if a value dominates the insertion point of the builder, given
/// that everything is emitted in order.
static bool isInScope(Value value, OpBuilder &builder) {
  Block *home = value.getParentBlock();
  for (Block *block = builder.getInsertionBlock(); block;) {
    if (block == home)
      return true;
    Operation *parent = block->getParentOp();
    block = parent ? parent->getBlock() : nullptr;
  }
  return false;
}

Value ElementEmitter::element(Value tensor, ValueRange indices) {
  if (auto source = sources.find(tensor); source != sources.end())
    return source->second(indices);
  Operation *op = tensor.getDefiningOp();
  Key key = {static_cast<int64_t>(reinterpret_cast<intptr_t>(
      op ? static_cast<void *>(op) : tensor.getAsOpaquePointer()))};
  for (Value index : indices)
    key.push_back(idOf(index));
  unsigned number = op ? cast<OpResult>(tensor).getResultNumber() : 0;
  for (auto &values : llvm::reverse(known[key]))
    if (isInScope(values.front(), builder))
      return values[number];

  SmallVector<Value, 1> values;
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    ScalarEmitter e{builder, loc};
    Value position = e.linearize(indices, tensorType(tensor).getShape());
    values.push_back(memref::LoadOp::create(
        builder, loc, inputs[argument.getArgNumber()], position));
  } else {
    llvm::append_range(values, cast<ScalarBody>(op).emitElements(
                                   builder, op->getLoc(), indices,
                                   [&](unsigned operand, ValueRange at) {
                                     return element(op->getOperand(operand),
                                                    at);
                                   }));
  }
  known[key].push_back(values);
  return values[number];
}
