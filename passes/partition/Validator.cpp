// SPDX-License-Identifier: Apache-2.0

#include "passes/partition/Validator.h"

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/TensorTypes.h"
#include "passes/partition/Partitioner.h"

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// ValueNumbers
//===----------------------------------------------------------------------===//

ValueNumbers::ValueNumbers(func::FuncOp function) {
  auto add = [&](Value value) {
    numbers[value] = values.size();
    values.push_back(value);
  };
  for (BlockArgument argument : function.getArguments())
    add(argument);
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (match(&op))
      continue;
    firstResults[getKey(&op)] = values.size();
    for (Value result : op.getResults())
      add(result);
  }
}

Value ValueNumbers::find(Value value) const {
  auto number = numbers.find(value);
  return number == numbers.end() ? Value() : values[number->second];
}

/// The name, the attributes, the regions as they are printed, the numbers of
/// operands, and the types of results.
ValueNumbers::Key ValueNumbers::getKey(Operation *op) const {
  auto toNumber = [](const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
  };
  Key key = {toNumber(op->getName().getAsOpaquePointer()),
             toNumber(op->getAttrDictionary().getAsOpaquePointer())};
  for (Region &region : op->getRegions()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    for (Operation &inner : region.getOps())
      os << inner;
    key.push_back(
        toNumber(StringAttr::get(op->getContext(), text).getAsOpaquePointer()));
  }
  for (Value operand : op->getOperands()) {
    auto number = numbers.find(operand);
    // No value has that number.
    key.push_back(number == numbers.end() ? values.size() : number->second);
  }
  for (Type type : op->getResultTypes())
    key.push_back(toNumber(type.getAsOpaquePointer()));
  return key;
}

bool ValueNumbers::match(Operation *op) {
  auto first = firstResults.find(getKey(op));
  if (first == firstResults.end())
    return false;
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    numbers[result] = first->second + i;
  return true;
}

void ValueNumbers::forget(Block &block) {
  for (Operation &op : block)
    for (Value result : op.getResults())
      numbers.erase(result);
}

//===----------------------------------------------------------------------===//
// Validator
//===----------------------------------------------------------------------===//

Validator::Validator(func::FuncOp global, func::FuncOp local, int64_t axis,
                     int64_t parts)
    : global(global), local(local), moves(axis, parts), parts(parts),
      numbers(local) {}

LogicalResult Validator::run() {
  Block &block = global.getBody().front();
  if (block.getNumArguments() != local.getNumArguments() ||
      global.getNumResults() != local.getNumResults())
    return local.emitError("has other arguments or results than all ranks "
                           "together");
  for (auto [argument, own] :
       llvm::zip_equal(block.getArguments(), local.getArguments())) {
    FailureOr<Placement> placement = getPlacement(
        global, getArgumentPartition(global, argument.getArgNumber()),
        tensorType(argument), moves.getAxis());
    if (failed(placement))
      return failure();
    if (own.getType() != getLocalType(tensorType(argument), *placement, parts))
      return local.emitError("argument ")
             << own.getArgNumber() << " is not the part of its partition";
    add(argument, *placement, own);
  }
  for (Operation *op = &block.front(); op != block.getTerminator();) {
    visit(op);
    op = op->getNextNode();
  }
  auto *last = local.getBody().front().getTerminator();
  for (auto [i, value, own] : llvm::enumerate(
           block.getTerminator()->getOperands(), last->getOperands())) {
    FailureOr<Placement> placement = getPlacement(
        global, getResultPartition(global, static_cast<unsigned>(i)),
        tensorType(value), moves.getAxis());
    if (failed(placement))
      return failure();
    Value wanted = find(value, *placement);
    if (!wanted)
      return emitMissing(value);
    if (wanted != numbers.find(own))
      return last->emitError("result ")
             << i << " is not what ranks have of the result of all together";
  }
  return success();
}

/// Reports the first op that leads to a value and whose operands were found.
LogicalResult Validator::emitMissing(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto *missing = llvm::find_if(op->getOpOperands(), [&](OpOperand &operand) {
      Operation *def = operand.get().getDefiningOp();
      // Parts of constants are only looked for where they are needed.
      return forms[operand.get()].empty() &&
             (!def || def->getNumOperands() != 0);
    });
    if (missing == op->getOpOperands().end())
      break;
    value = missing->get();
  }
  if (Operation *op = value.getDefiningOp())
    return op->emitOpError("is not what a rank computes, in parts, on terms or "
                           "as a whole");
  return global.emitError("no rank has an argument as what reads it needs it");
}

bool Validator::add(Value value, const Placement &placement, Value own) {
  for (auto &[known, other] : forms[value])
    if (known == placement)
      return false;
  forms[value].push_back({placement, own});
  return true;
}

/// Returns the values of the function that are equal to those that are built;
/// none if it lacks one of the ops.
SmallVector<Value>
Validator::match(function_ref<SmallVector<Value>(OpBuilder &builder)> build) {
  Block scratch;
  OpBuilder builder(global.getContext());
  builder.setInsertionPointToStart(&scratch);
  SmallVector<Value> equal;
  for (Value value : build(builder))
    equal.push_back(value);
  bool isKnown = true;
  for (Operation &op : scratch)
    isKnown = isKnown && numbers.match(&op);
  for (Value &value : equal)
    value = isKnown ? numbers.find(value) : Value();
  numbers.forget(scratch);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(scratch)))
    op.erase();
  if (llvm::is_contained(equal, Value()))
    return {};
  return equal;
}

/// Returns what a rank computes of a value that is placed in this way; null if
/// it does not.
Value Validator::find(Value value, const Placement &want) {
  for (auto &[placement, own] : forms[value])
    if (placement == want)
      return own;
  if (want.kind == Placement::Partial)
    return {};
  if (want.kind == Placement::Split) {
    // Only once: a search that failed would fail again.
    if (!searched
             .insert({value.getAsOpaquePointer(), want.dim, want.pad,
                      std::vector<int64_t>(want.segments.begin(),
                                           want.segments.end())})
             .second)
      return {};
    if (Value part = computePart(value, want))
      return part;
    (void)find(value, Placement());
  }
  SmallVector<Form, 2> known = forms[value];
  for (auto &[placement, own] : known) {
    Value from = own;
    SmallVector<Value> moved = match([&](OpBuilder &builder) {
      return SmallVector<Value>{
          moves.move(builder, global.getLoc(), from, placement, want)};
    });
    if (moved.empty())
      continue;
    add(value, want, moved.front());
    return moved.front();
  }
  return {};
}

/// Tries to compute a part of a value from parts of operands.
Value Validator::computePart(Value value, const Placement &want) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || value != op->getResult(0))
    return {};
  SmallVector<Placement> whole(op->getNumOperands());
  for (const Factor &factor : getFactors(op)) {
    if (factor.kind != Factor::Free || factor.resultDims.front() != want.dim)
      continue;
    auto strategy = getFactorStrategy(op, factor, whole, parts, &want);
    if (strategy && strategy->results.front() == want && attempt(op, *strategy))
      return find(value, want);
  }
  return {};
}

bool Validator::attempt(Operation *op, const Strategy &strategy) {
  SmallVector<Value> operands;
  for (auto [operand, want] :
       llvm::zip_equal(op->getOperands(), strategy.operands)) {
    Value own = find(operand, want);
    if (!own)
      return false;
    operands.push_back(own);
  }
  auto build = [&](OpBuilder &builder, bool withNumber) -> SmallVector<Value> {
    if (strategy.kind != Strategy::InParts) {
      Operation *copy = builder.clone(*op);
      copy->setOperands(operands);
      return SmallVector<Value>(copy->getResults());
    }
    Value number = withNumber ? moves.buildNumber(builder) : Value();
    return buildPart(builder, op, strategy.factor, parts, operands, number);
  };
  // A function that has no use for the number of its rank lacks it.
  SmallVector<Value> results = match([&](OpBuilder &builder) {
    return build(builder, strategy.factor.isContiguous ||
                              (strategy.factor.pad != 0 &&
                               strategy.factor.kind != Factor::Free));
  });
  if (results.empty())
    return false;
  for (auto [value, placement, own] :
       llvm::zip_equal(op->getResults(), strategy.results, results))
    add(value, placement, own);
  return true;
}

void Validator::tryPlacement(Operation *op, const Factor &factor,
                             ArrayRef<Placement> placed) {
  if (auto strategy = getFactorStrategy(op, factor, placed, parts))
    attempt(op, *strategy);
}

/// Tries the segments that operands have.
void Validator::tryFactor(Operation *op, const Factor &factor) {
  SmallVector<Placement> whole(op->getNumOperands()), first(whole);
  tryPlacement(op, factor, whole);
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i) {
    if (factor.operandDims[i] < 0)
      continue;
    SmallVector<Form, 2> known = forms[op->getOperand(i)];
    for (auto &[placement, own] : known) {
      if (placement.kind != Placement::Split ||
          placement.dim != factor.operandDims[i])
        continue;
      SmallVector<Placement> placed(whole);
      placed[i] = placement;
      tryPlacement(op, factor, placed);
      if (first[i].kind == Placement::Whole)
        first[i] = placement;
    }
  }
  tryPlacement(op, factor, first);
}

void Validator::tryTerms(Operation *op) {
  constexpr unsigned maxOperands = 8;
  unsigned count = op->getNumOperands();
  if (count == 0 || count > maxOperands)
    return;
  for (unsigned mask = 1; mask < (1u << count); ++mask) {
    llvm::SmallBitVector partial(count);
    for (unsigned i = 0; i < count; ++i)
      if (mask & (1u << i))
        partial.set(i);
    if (auto strategy = getTermsStrategy(op, partial))
      attempt(op, *strategy);
  }
}

void Validator::visit(Operation *op) {
  Strategy whole;
  whole.operands.resize(op->getNumOperands());
  whole.results.resize(op->getNumResults());
  attempt(op, whole);
  tryTerms(op);
  if (op->getNumRegions() == 0)
    for (const Factor &factor : getFactors(op))
      tryFactor(op, factor);
  bool isFound = llvm::any_of(
      op->getResults(), [&](Value value) { return !forms[value].empty(); });
  found += isFound;
  auto composite = dyn_cast<Decomposable>(op);
  if (isFound || !composite)
    return;
  OpBuilder behind(op->getContext());
  behind.setInsertionPointAfter(op);
  SmallVector<Value> results = composite.decompose(behind);
  if (!results.empty())
    op->replaceAllUsesWith(results);
}
