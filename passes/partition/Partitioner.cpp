// SPDX-License-Identifier: Apache-2.0

#include "passes/partition/Partitioner.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/partition/Partition.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Attribute getStatePartition(func::FuncOp function,
                                   FlatSymbolRefAttr state) {
  Operation *found =
      state ? SymbolTable::lookupNearestSymbolFrom(function, state) : nullptr;
  return found ? found->getAttr(kPartitionAttr) : Attribute();
}

Attribute ingot::getArgumentPartition(func::FuncOp function, unsigned index) {
  if (Attribute own = function.getArgAttr(index, kPartitionAttr))
    return own;
  return getStatePartition(function, Signature(function).argumentState(index));
}

Attribute ingot::getResultPartition(func::FuncOp function, unsigned index) {
  if (Attribute own = function.getResultAttr(index, kPartitionAttr))
    return own;
  return getStatePartition(function, Signature(function).resultState(index));
}

FailureOr<Placement> ingot::getPlacement(func::FuncOp function,
                                         Attribute attribute,
                                         RankedTensorType type, int64_t axis) {
  Partition partition = Partition::get(attribute, type, Mesh::of(function));
  for (auto [number, dim] : llvm::enumerate(partition.getDims())) {
    if (!llvm::is_contained(dim.axes, axis))
      continue;
    if (dim.axes.size() > 1)
      return function.emitError("two axes cannot split one dimension yet: ")
             << attribute;
    if (dim.pad != 0 && dim.segments.size() > 1)
      return function.emitError("segments cannot be padded yet: ") << attribute;
    return Placement::split(static_cast<int64_t>(number), dim.segments,
                            dim.pad);
  }
  return Placement();
}

ArrayAttr ingot::describePartition(const Placement &placement, Axis axis,
                                   RankedTensorType type) {
  Builder builder(type.getContext());
  SmallVector<Attribute> dims(type.getRank(), builder.getDictionaryAttr({}));
  Attribute segments = builder.getUnitAttr();
  if (placement.segments.size() > 1)
    segments = builder.getI64ArrayAttr(placement.segments);
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr(stringifyAxis(axis), segments)};
  if (placement.pad != 0)
    entries.push_back(
        builder.getNamedAttr("pad", builder.getI64IntegerAttr(placement.pad)));
  dims[placement.dim] = builder.getDictionaryAttr(entries);
  return builder.getArrayAttr(dims);
}

LogicalResult Partitioner::apply(func::FuncOp function) {
  builder = OpBuilder(function.getContext());
  Block &global = function.getBody().front();
  auto *local = new Block();
  function.getBody().push_back(local);
  block = local;
  builder.setInsertionPointToEnd(local);
  entries.clear();
  rows.reset();
  auto wanted = function->getAttrOfType<StringAttr>(kSplitRowsAttr);
  if (wanted &&
      symbolizeAxis(wanted.getValue()) == static_cast<Axis>(moves.getAxis()))
    rows.emplace(function);
  number = {};
  computed.clear();
  wholeContractions.clear();
  for (BlockArgument argument : global.getArguments()) {
    FailureOr<Placement> placement = getPlacement(
        function, getArgumentPartition(function, argument.getArgNumber()),
        tensorType(argument), moves.getAxis());
    if (failed(placement)) {
      local->erase();
      return failure();
    }
    Value own = local->addArgument(
        getLocalType(tensorType(argument), *placement, parts),
        argument.getLoc());
    entries[argument] = {*placement, own};
  }
  // An op that is decomposed is followed by what it is made of.
  for (Operation *op = &global.front(); op != global.getTerminator();) {
    visit(op);
    op = op->getNextNode();
  }
  SmallVector<Value> results;
  Operation *last = global.getTerminator();
  for (auto [i, value] : llvm::enumerate(last->getOperands())) {
    FailureOr<Placement> placement = getPlacement(
        function, getResultPartition(function, static_cast<unsigned>(i)),
        tensorType(value), moves.getAxis());
    if (failed(placement)) {
      local->erase();
      return failure();
    }
    computed.push_back(entries[value].placement);
    results.push_back(get(value, *placement, last));
  }
  func::ReturnOp::create(builder, last->getLoc(), results);
  global.dropAllReferences();
  global.dropAllDefinedValueUses();
  global.erase();
  function.setType(FunctionType::get(function.getContext(),
                                     local->getArgumentTypes(),
                                     ValueRange(results).getTypes()));
  // What is only needed in parts was computed as a whole, too.
  llvm::SmallPtrSet<Operation *, 16> dead;
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(local->getOperations())))
    if (isOpTriviallyDead(&op)) {
      dead.insert(&op);
      op.erase();
    }
  llvm::erase_if(wholeContractions, [&](const auto &contraction) {
    return dead.contains(contraction.first);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void Partitioner::visit(Operation *op) {
  Strategy strategy = choose(op);
  if (rows && scatterRows(op, strategy))
    strategy = choose(op);
  if (!decompose(op, strategy))
    compute(op, strategy);
}

Strategy Partitioner::choose(Operation *op) {
  SmallVector<Placement> placed;
  for (Value operand : op->getOperands())
    placed.push_back(entries[operand].placement);
  return chooseStrategy(op, placed, parts,
                        [&](unsigned operand, const Placement &want) {
                          return has(op->getOperand(operand), want);
                        });
}

/// Splits the sums that an op needs into rows, instead of adding them up on
/// each rank: ops on rows go on with these, and what needs all gathers them.
/// Returns whether there are such sums.
bool Partitioner::scatterRows(Operation *op, const Strategy &strategy) {
  bool isScattered = false;
  for (auto [operand, want] :
       llvm::zip_equal(op->getOperands(), strategy.operands)) {
    const Placement partial = Placement::partial(Factor::Sum);
    std::optional<int64_t> dim = rows->find(operand, parts);
    if (!(entries[operand].placement == partial) || want == partial || !dim ||
        has(operand, Placement()))
      continue;
    auto split = Placement::split(*dim, {tensorType(operand).getDimSize(*dim)});
    Value local = get(operand, split, op);
    Entry &entry = entries[operand];
    entry.others = {{partial, entry.local}};
    entry.placement = split;
    entry.local = local;
    isScattered = true;
  }
  return isScattered;
}

/// Returns whether ranks have a value placed in that way already.
bool Partitioner::has(Value value, const Placement &want) const {
  const Entry &entry = entries.find(value)->second;
  return entry.placement == want ||
         llvm::any_of(entry.others,
                      [&](const auto &other) { return other.first == want; });
}

/// Puts what a composite is made of behind it, if its parts do not need whole
/// operands.
bool Partitioner::decompose(Operation *op, const Strategy &strategy) {
  auto composite = dyn_cast<Decomposable>(op);
  bool isGathered = false;
  for (auto [operand, want] :
       llvm::zip_equal(op->getOperands(), strategy.operands)) {
    const Placement &placement = entries[operand].placement;
    isGathered |= placement.kind == Placement::Split && !(placement == want);
  }
  if (!composite || !isGathered)
    return false;
  OpBuilder behind(op->getContext());
  behind.setInsertionPointAfter(op);
  SmallVector<Value> results = composite.decompose(behind);
  if (results.empty())
    return false;
  op->replaceAllUsesWith(results);
  return true;
}

void Partitioner::compute(Operation *op, const Strategy &strategy) {
  SmallVector<Value> operands;
  for (auto [operand, want] :
       llvm::zip_equal(op->getOperands(), strategy.operands))
    operands.push_back(get(operand, want, op));
  SmallVector<Value> results;
  if (strategy.kind == Strategy::InParts) {
    results =
        buildPart(builder, op, strategy.factor, parts, operands, getNumber());
  } else {
    IRMapping mapping;
    mapping.map(op->getOperands(), operands);
    Operation *copy = builder.clone(*op, mapping);
    copy->setOperands(operands);
    results = copy->getResults();
    if (isContraction(op)) {
      bool readsParts = llvm::any_of(op->getOperands(), [&](Value operand) {
        return entries[operand].placement.kind == Placement::Split;
      });
      wholeContractions.emplace_back(
          copy, readsParts ? "what it reads in parts it does not compute apart"
                           : "ranks have all of what it reads");
    }
  }
  for (auto [value, local, placement] :
       llvm::zip_equal(op->getResults(), results, strategy.results))
    entries[value] = {placement, local};
}

Value Partitioner::getNumber() {
  if (number)
    return number;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(block);
  return number = moves.buildNumber(builder);
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

Value Partitioner::get(Value value, const Placement &want, Operation *reader) {
  Entry &entry = entries[value];
  if (entry.placement == want)
    return entry.local;
  for (auto &[placement, local] : entry.others)
    if (placement == want)
      return local;
  if (want.kind == Placement::Split)
    if (Value part = computePart(value, want, reader)) {
      entries[value].others.push_back({want, part});
      return part;
    }
  // What is whole already, or has to be anyway, is a part without exchanges.
  Placement from = entry.placement;
  Value local = entry.local;
  for (auto &[placement, other] : entry.others)
    if (placement.kind == Placement::Whole) {
      from = placement;
      local = other;
    }
  Block::iterator before =
      block->empty() ? block->end() : std::prev(block->end());
  Value moved = moves.move(builder, reader->getLoc(), local, from, want);
  for (auto it = before == block->end() ? block->begin() : std::next(before);
       it != block->end(); ++it)
    if (auto exchange = dyn_cast<Exchange>(*it))
      report(exchange, reader, exchange.getSentBytes(parts));
  entries[value].others.push_back({want, moved});
  return moved;
}

/// Computes a part of what ranks have a whole of, where that takes parts of
/// operands only: ops of one element, up to states, inputs and what is costly
/// and has other readers.
Value Partitioner::computePart(Value value, const Placement &want,
                               Operation *reader) {
  Operation *op = value.getDefiningOp();
  if (!op || entries[value].placement.kind != Placement::Whole ||
      op->getNumResults() != 1 || isa<Exchange>(op))
    return {};
  auto body = dyn_cast<ScalarBody>(op);
  bool isCheap = body && !body.isLooped();
  if (!isCheap && (!value.hasOneUse() || isa<Decomposable>(op)))
    return {};
  SmallVector<Placement> whole(op->getNumOperands());
  for (const Factor &factor : getFactors(op)) {
    if (factor.kind != Factor::Free || factor.resultDims.front() != want.dim)
      continue;
    std::optional<Strategy> strategy =
        getFactorStrategy(op, factor, whole, parts, &want);
    if (!strategy || !(strategy->results.front() == want))
      continue;
    SmallVector<Value> operands;
    for (auto [operand, placement] :
         llvm::zip_equal(op->getOperands(), strategy->operands)) {
      if (entries[operand].placement.kind == Placement::Partial &&
          !has(operand, placement))
        return {};
      operands.push_back(get(operand, placement, reader));
    }
    return buildPart(builder, op, strategy->factor, parts, operands,
                     getNumber())
        .front();
  }
  return {};
}
