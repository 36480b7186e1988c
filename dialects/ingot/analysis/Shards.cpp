// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/analysis/Shards.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Signature.h"

using namespace mlir;
using namespace ingot;

FailureOr<Shards> Shards::of(func::FuncOp function) {
  Shards result;
  Signature signature(function);
  auto module = function->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  for (BlockArgument argument : function.getArguments()) {
    FlatSymbolRefAttr symbol = signature.argumentState(argument.getArgNumber());
    auto state = symbol ? symbols.lookup<StateOp>(symbol.getAttr()) : StateOp();
    if (state && state.getShardAttr())
      result.shards[argument] = state.getShardAttr();
    if (state && state.getGatheredAttr())
      result.shards[argument] = state.getGatheredAttr().getShard();
  }
  for (Operation &op : function.getBody().front())
    if (failed(result.visit(op)))
      return failure();
  return result;
}

/// Checks that the shards of a part have the offset of the part in the bucket
/// of the states.
template <typename Op>
static LogicalResult checkPlaces(Op op, ArrayRef<ShardAttr> operands) {
  for (auto [shard, first] : llvm::zip_equal(operands, op.getFirsts()))
    if (shard && shard != ShardAttr::get(op.getContext(), first,
                                         static_cast<int64_t>(op.getOf())))
      return op.emitOpError("C8: a part must have the offset of its shards: ")
             << shard.getFirst() << " of " << shard.getOf() << ", got " << first
             << " of " << op.getOf();
  return success();
}

LogicalResult Shards::visit(Operation &op) {
  if (auto wait = dyn_cast<ReduceScatterWaitOp>(op)) {
    BucketLayout layout = BucketLayout::of(cast<BucketEnd>(op));
    for (auto [part, first] : llvm::zip_equal(wait.getParts(), layout.offsets))
      shards[part] = ShardAttr::get(op.getContext(), first, layout.elements);
    return success();
  }
  SmallVector<ShardAttr> operands = llvm::map_to_vector(
      op.getOperands(), [&](Value operand) { return lookup(operand); });
  if (llvm::none_of(operands, [](ShardAttr shard) { return shard != nullptr; }))
    return success();

  // Checks the results of steps: new values of sharded states.
  if (isa<func::ReturnOp, ShardSquareSumOp>(op))
    return success();
  if (auto start = dyn_cast<AllGatherStartOp>(op)) {
    BucketLayout layout = BucketLayout::of(cast<BucketEnd>(op));
    for (auto [shard, first] : llvm::zip_equal(operands, layout.offsets))
      if (shard &&
          shard != ShardAttr::get(op.getContext(), first, layout.elements))
        return op.emitOpError("C8: a part must have the offset of its shards: ")
               << shard.getFirst() << " of " << shard.getOf() << ", got "
               << first << " of " << layout.elements;
    return success();
  }
  if (auto wait = dyn_cast<StateGatherWaitOp>(op))
    return checkPlaces(wait, operands);
  if (auto start = dyn_cast<StateGatherStartOp>(op)) {
    for (auto [result, shard] : llvm::zip_equal(op.getResults(), operands))
      if (shard)
        shards[result] = shard;
    return checkPlaces(start, operands);
  }
  if (auto fusion = dyn_cast<FusionOp>(op)) {
    Block &body = fusion.getBody().front();
    for (auto [argument, shard] :
         llvm::zip_equal(body.getArguments(), operands))
      if (shard)
        shards[argument] = shard;
    for (Operation &inner : body.without_terminator())
      if (failed(visit(inner)))
        return failure();
    ShardAttr common;
    for (auto [result, value] : llvm::zip_equal(
             op.getResults(), body.getTerminator()->getOperands())) {
      ShardAttr shard = lookup(value);
      if (!shard || (common && common != shard))
        return op.emitOpError("C9: combines values of different shards, or of "
                              "a shard and a whole tensor");
      common = shard;
      shards[result] = shard;
    }
    return success();
  }

  if (auto blocks = dyn_cast<InBlocks>(op))
    return visitBlocks(blocks, operands);
  if (op.hasTrait<SameBytes>()) {
    for (auto [result, shard] : llvm::zip_equal(op.getResults(), operands))
      if (shard)
        shards[result] = shard;
    return success();
  }
  ShardAttr common;
  for (auto [operand, shard] : llvm::zip_equal(op.getOpOperands(), operands)) {
    if (!shard)
      continue;
    auto body = dyn_cast<ScalarBody>(op);
    bool isPointwise = body && !isa<LibraryCall>(op) &&
                       body.readsPointwise(operand.getOperandNumber());
    if (!isPointwise || (common && common != shard))
      return op.emitOpError("C9: needs elements outside of the rank's shard");
    common = shard;
  }
  for (Value result : op.getResults())
    shards[result] = common;
  return success();
}

/// Blocks are within shards, whose bounds are multiples of their elements. What
/// they have in common has the shard of their elements.
LogicalResult Shards::visitBlocks(InBlocks op, ArrayRef<ShardAttr> operands) {
  const int64_t block = op.getBlockSize();
  ShardAttr common;
  for (auto [operand, shard] : llvm::zip_equal(op->getOperands(), operands)) {
    if (!shard)
      continue;
    if (op.isTable(operand) || BucketLayout::kShardBlock % block != 0 ||
        shard.getFirst() % block != 0 || shard.getOf() % block != 0 ||
        (common && common != shard))
      return op->emitOpError("C9: needs elements outside of the rank's shard");
    common = shard;
  }
  for (Value result : op->getResults())
    shards[result] = common;
  return success();
}
