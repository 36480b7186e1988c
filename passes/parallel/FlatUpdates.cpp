// SPDX-License-Identifier: Apache-2.0

#include "passes/parallel/FlatUpdates.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/partition/Partitionable.h"

using namespace mlir;
using namespace ingot;

/// Returns whether ranks have different values of a state.
static bool variesByRank(Role role) {
  return role == Role::Seed || role == Role::Accumulator ||
         role == Role::Residual || role == Role::Coordinates;
}

FlatUpdates::FlatUpdates(func::FuncOp function, ArrayRef<AllReduceOp> sums)
    : function(function), sums(sums) {
  for (AllReduceOp sum : sums)
    if (sum.getGradientOf())
      candidates.insert(sum);
  // What one gradient is combined with is known once all are followed.
  while (propagate())
    ;
}

void FlatUpdates::reject(Operation *sum, StringRef reason) {
  if (candidates.erase(sum))
    rejected[sum] = reason;
}

bool FlatUpdates::varies(Value value) const { return varying.contains(value); }

/// Returns whether a gradient turned out to stay whole.
bool FlatUpdates::propagate() {
  flat.clear();
  partial.clear();
  varying.clear();
  squares.clear();
  reads.clear();
  size_t before = candidates.size();
  Signature signature(function);
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    FlatSymbolRefAttr symbol = signature.argumentState(number);
    auto state = symbol ? symbols.lookup<StateOp>(symbol.getAttr()) : StateOp();
    if (state ? variesByRank(state.getRole())
              : signature.argumentKind(number) != "hyper")
      varying.insert(argument);
  }
  for (Operation &op : function.getBody().front()) {
    if (auto sum = dyn_cast<AllReduceOp>(op))
      visitSum(sum);
    else
      visit(op);
  }
  return candidates.size() != before;
}

void FlatUpdates::visitSum(AllReduceOp sum) {
  if (candidates.contains(sum)) {
    flat[sum.getResult()] = sum;
    return;
  }
  if (Operation *shard = flat.lookup(sum.getOperand()))
    return reject(shard, "ranks along another axis add it up");
  if (!partial.contains(sum.getOperand()))
    return;
  // A sum along another axis of terms is a term, too.
  bool isOther = llvm::none_of(sum.getAxes(), [&](int64_t axis) {
    return llvm::is_contained(Mesh::of(function).getSampleAxes(), axis);
  });
  if (isOther && sum.getKind() == ReductionKind::Sum)
    partial.insert(sum.getResult());
  else
    reads.push_back(&sum.getOperandMutable());
}

void FlatUpdates::visit(Operation &op) {
  if (isa<func::ReturnOp>(op))
    return visitReturn(op);
  Operation *common = nullptr;
  bool hasPartial = false;
  for (Value operand : op.getOperands()) {
    hasPartial |= partial.contains(operand);
    Operation *sum = flat.lookup(operand);
    if (common && sum && common != sum) {
      for (Operation *other : {common, sum})
        reject(other, "an op combines it with another gradient");
      return;
    }
    common = sum ? sum : common;
  }
  if (common)
    return visitFlat(op, common);
  if (hasPartial)
    return visitPartial(op);
  // Sums over ranks are the same on all of them.
  if (!isa<BucketEnd>(op) &&
      llvm::any_of(op.getOperands(), [&](Value v) { return varies(v); }))
    varying.insert_range(op.getResults());
}

void FlatUpdates::visitReturn(Operation &op) {
  Signature signature(function);
  DenseMap<Operation *, unsigned> updated;
  for (OpOperand &operand : op.getOpOperands()) {
    if (partial.contains(operand.get()))
      reads.push_back(&operand);
    Operation *sum = flat.lookup(operand.get());
    if (!sum)
      continue;
    FlatSymbolRefAttr state = signature.resultState(operand.getOperandNumber());
    if (!state)
      reject(sum, "the step returns a value computed from it");
    else if (state == cast<AllReduceOp>(sum).getGradientOfAttr())
      ++updated[sum];
  }
  for (AllReduceOp sum : sums)
    if (candidates.contains(sum) && updated.lookup(sum) != 1)
      reject(sum, "its parameter is not updated from it element by element");
}

/// Returns whether an op adds up the squares of all elements of a tensor.
static bool isSumOfSquares(Operation &op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || reduce.getKind() != ReductionKind::Sum ||
      tensorType(reduce.getResult()).getRank() != 0)
    return false;
  auto square = reduce.getOperand().getDefiningOp<MulOp>();
  return square && square.getLhs() == square.getRhs();
}

void FlatUpdates::visitFlat(Operation &op, Operation *sum) {
  if (isSumOfSquares(op)) {
    squares.push_back({cast<ReduceOp>(op), sum});
    partial.insert(op.getResult(0));
    return;
  }
  if (op.hasTrait<SameBytes>()) {
    for (auto [operand, result] :
         llvm::zip_equal(op.getOpOperands(), op.getResults()))
      if (Operation *own = flat.lookup(operand.get()))
        flat[result] = own;
      else if (partial.contains(operand.get()))
        reads.push_back(&operand);
    return;
  }
  auto body = dyn_cast<ScalarBody>(op);
  // Shards consist of whole blocks.
  auto blocks = dyn_cast<InBlocks>(op);
  for (OpOperand &operand : op.getOpOperands()) {
    if (partial.contains(operand.get()))
      reads.push_back(&operand);
    if (blocks && !blocks.isTable(operand.get()))
      continue;
    if (flat.contains(operand.get()) &&
        (!body || isa<LibraryCall>(op) ||
         !body.readsPointwise(operand.getOperandNumber()))) {
      reject(sum, "its update needs elements of other ranks");
      return;
    }
  }
  for (Value result : op.getResults())
    flat[result] = sum;
}

void FlatUpdates::visitPartial(Operation &op) {
  llvm::SmallBitVector parts(op.getNumOperands());
  bool isVarying = false;
  for (OpOperand &operand : op.getOpOperands())
    if (partial.contains(operand.get()))
      parts.set(operand.getOperandNumber());
    else
      isVarying |= varies(operand.get());
  auto partitionable = dyn_cast<Partitionable>(op);
  if (partitionable && !isVarying && partitionable.keepsPartialSums(parts)) {
    partial.insert_range(op.getResults());
    return;
  }
  for (OpOperand &operand : op.getOpOperands())
    if (parts.test(operand.getOperandNumber()))
      reads.push_back(&operand);
  if (isVarying)
    varying.insert_range(op.getResults());
}

/// Computes the sum of squares of a shard. Of a gradient that is a sum over
/// ranks times scalars, from that sum: nothing else has to be in memory.
Value FlatUpdates::computeSquares(const Square &square, ShardAttr shard) {
  ReduceOp reduce = square.reduce;
  OpBuilder builder(reduce);
  Arithmetic a(builder, reduce.getLoc());
  Type f64 = builder.getF64Type();
  Value whole = reduce.getOperand().getDefiningOp<MulOp>().getLhs();
  Value base = whole, factor;
  while (Operation *def = base.getDefiningOp()) {
    if (auto cast = dyn_cast<CastOp>(def)) {
      base = cast->getOperand(0);
      continue;
    }
    auto product = dyn_cast<MulOp>(def);
    auto scale =
        product ? product.getRhs().getDefiningOp<BroadcastOp>() : BroadcastOp();
    if (!scale || tensorType(scale->getOperand(0)).getRank() != 0)
      break;
    Value scalar = a.cast(scale->getOperand(0), f64);
    factor = factor ? a.mul(factor, scalar) : scalar;
    base = product.getLhs();
  }
  if (!base.getDefiningOp<ReduceScatterWaitOp>()) {
    base = whole;
    factor = {};
  }
  Value sum = ShardSquareSumOp::create(builder, base.getLoc(),
                                       RankedTensorType::get({}, f64), base,
                                       shard.getFirst(), shard.getOf());
  return factor ? a.mul(sum, a.square(factor)) : sum;
}

SmallVector<AllReduceOp>
FlatUpdates::sumShards(const DenseMap<Operation *, ShardAttr> &shards) {
  // The f64 value that each narrower one is of.
  DenseMap<Value, Value> wide;
  for (const Square &square : squares) {
    ReduceOp reduce = square.reduce;
    Value sum = computeSquares(square, shards.lookup(square.sum));
    OpBuilder builder(reduce);
    for (Operation *user : llvm::make_early_inc_range(reduce->getUsers()))
      if (auto cast = dyn_cast<CastOp>(user);
          cast && cast.getType() == sum.getType()) {
        cast.replaceAllUsesWith(sum);
        cast.erase();
      }
    if (!reduce->use_empty()) {
      Value narrow = castTo(builder, reduce.getLoc(), sum,
                            reduce.getType().getElementType());
      wide[narrow] = sum;
      reduce.replaceAllUsesWith(narrow);
    }
    Operation *product = reduce.getOperand().getDefiningOp();
    reduce.erase();
    if (product->use_empty())
      product->erase();
  }
  llvm::MapVector<Value, Value> totals;
  SmallVector<AllReduceOp> made;
  Location loc =
      NameLoc::get(StringAttr::get(function.getContext(), "norms of shards"));
  const int64_t axis = Mesh::of(function).getShardAxis();
  for (OpOperand *read : reads) {
    Value part = read->get();
    if (Value known = totals.lookup(part)) {
      read->set(known);
      continue;
    }
    Value exact = wide.lookup(part);
    OpBuilder builder(part.getContext());
    builder.setInsertionPointAfterValue(exact ? exact : part);
    auto total = AllReduceOp::create(builder, loc, ReductionKind::Sum,
                                     exact ? exact : part, axis);
    made.push_back(total);
    Value result =
        castTo(builder, loc, total, tensorType(part).getElementType());
    totals[part] = result;
    read->set(result);
  }
  return made;
}
