// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Differentiate: reverse mode over the Differentiable interface.
//
// Assumes a @train_step of one block whose first result is the loss.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Passes.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"

namespace ingot {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/autodiff/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

static bool isFloatTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

namespace {
/// The values between the trainable parameters and the loss.
class Activity {
public:
  Activity(Block &block, ArrayRef<Value> parameters, Value loss) {
    dependent.insert_range(parameters);
    for (Operation &op : block.without_terminator())
      if (llvm::any_of(op.getOperands(),
                       [&](Value v) { return dependent.contains(v); }))
        // Integers and booleans have no gradient.
        for (Value result : op.getResults())
          if (isFloatTensor(result))
            dependent.insert(result);

    relevant.insert(loss);
    for (Operation &op : llvm::reverse(block.without_terminator()))
      if (llvm::any_of(op.getResults(),
                       [&](Value v) { return relevant.contains(v); }))
        for (Value operand : op.getOperands())
          if (isFloatTensor(operand))
            relevant.insert(operand);
  }

  /// Returns whether the value depends on a parameter and the loss depends on
  /// it.
  bool isActive(Value value) const {
    return dependent.contains(value) && relevant.contains(value);
  }

private:
  DenseSet<Value> dependent, relevant;
};

/// Returns true for an op whose result repeats elements of its operand.
bool repeatsElements(Operation *op) {
  return isa_and_present<MovesElements>(op) &&
         tensorType(op->getOperand(0)).getNumElements() <
             tensorType(op->getResult(0)).getNumElements();
}

/// The cotangents of values, which are summed as they are added. Those of a
/// repeated value are kept separate: their sums over the repetitions are
/// smaller, and the cotangent of one layer is not kept in memory until those of
/// all layers are there.
class Cotangents {
public:
  /// Returns the cotangents of the value: at most one, except for a repeated
  /// value.
  ArrayRef<Value> getParts(Value value) const {
    auto found = parts.find(value);
    return found == parts.end() ? ArrayRef<Value>() : found->second;
  }
  Value get(Value value) const {
    ArrayRef<Value> found = getParts(value);
    return found.empty() ? Value() : found.front();
  }
  void add(OpBuilder &builder, Location loc, Value value, Value cotangent) {
    SmallVector<Value, 1> &known = parts[value];
    if (known.empty() || repeatsElements(value.getDefiningOp()))
      known.push_back(cotangent);
    else
      known.front() = addOrNull(builder, loc, known.front(), cotangent);
  }

private:
  DenseMap<Value, SmallVector<Value, 1>> parts;
};

struct Differentiate : public ingot::impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override;

private:
  LogicalResult checkGradients(Block &block, const Activity &activity);
  LogicalResult differentiate(Operation *op, OpBuilder &builder,
                              const Activity &activity, Cotangents &cotangents);
};
} // namespace

/// Builds the cotangent of the loss from which gradients start. With loss
/// scaling they are gradients of scale * loss.
static Value buildStart(Signature step, OpBuilder &builder, Location loc,
                        RankedTensorType type) {
  Value scale = step.findArgument(
      FlatSymbolRefAttr::get(builder.getContext(), kLossScaleName));
  return scale ? castTo(builder, loc, scale, type.getElementType())
               : splat(builder, loc, type, 1.0);
}

/// Replaces the input from which an imported backward pass starts.
static void startBackward(Signature step) {
  std::optional<unsigned> index = step.findInput(kCotangentKind);
  if (!index)
    return;
  func::FuncOp func = step.getFunction();
  BlockArgument cotangent = func.getArgument(*index);
  OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
  cotangent.replaceAllUsesWith(
      buildStart(step, builder, cotangent.getLoc(), tensorType(cotangent)));
  (void)func.eraseArgument(*index);
}

/// Emits one error for all ops between parameters and the loss that have no
/// gradient.
LogicalResult Differentiate::checkGradients(Block &block,
                                            const Activity &activity) {
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

LogicalResult Differentiate::differentiate(Operation *op, OpBuilder &builder,
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
      return success();
  }
  if (needed.none() || rounds.empty())
    return success();

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
  ++numDifferentiated;
  return success();
}

void Differentiate::runOnOperation() {
  ModuleOp module = getOperation();
  func::FuncOp func = findFunction(module, kTrainStepName);
  if (!func)
    return;
  Signature step(func);
  ResultList before = ResultList::of(step);
  if (before.entries.empty() || step.resultName(0) != "loss")
    return;
  SymbolTable symbols(module);
  auto isTrained = [&](FlatSymbolRefAttr symbol) {
    auto state = symbol ? symbols.lookup<StateOp>(symbol.getAttr()) : StateOp();
    return state && state.getRole() == Role::Parameter;
  };
  if (llvm::any_of(before.entries, [&](const ResultList::Entry &entry) {
        return entry.gradient() || isTrained(entry.state());
      }))
    return startBackward(step);

  // The parameters are in the order of the states, whether the step still reads
  // them or not.
  SmallVector<std::pair<StateOp, Value>> trained;
  SmallVector<Value> parameters;
  auto arguments = step.mapStates();
  for (StateOp state : module.getOps<StateOp>()) {
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    if (!isTrained(symbol))
      continue;
    Value argument = arguments.lookup(symbol);
    trained.emplace_back(state, argument);
    if (argument)
      parameters.push_back(argument);
  }

  Block &block = func.getBody().front();
  Value loss = before.entries.front().value;
  Activity activity(block, parameters, loss);
  if (failed(checkGradients(block, activity)))
    return signalPassFailure();

  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  OpBuilder builder(step.getReturn());
  Cotangents cotangents;
  cotangents.add(builder, loss.getLoc(), loss,
                 buildStart(step, builder, loss.getLoc(), tensorType(loss)));
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op, builder, activity, cotangents)))
      return signalPassFailure();

  ResultList results;
  results.add(loss, before.entries.front().attributes);
  unsigned numGradientsBuilt = 0;
  for (auto [state, parameter] : trained) {
    if (!parameter || !activity.isActive(parameter)) {
      ++numUnreached;
      remark::missed(state.getLoc(), remarkOptions(getArgument(), "Gradient"))
          << remark::metric("parameter", state.getSymName())
          << remark::reason(
                 "the loss does not depend on it: it is not updated");
      continue;
    }
    // The parameter is used by the loss only through ops with zero derivative:
    // its gradient is zero, not absent.
    Value gradient = cotangents.get(parameter);
    if (!gradient)
      gradient = splat(builder, parameter.getLoc(), tensorType(parameter), 0.0);
    results.addGradient(FlatSymbolRefAttr::get(state.getSymNameAttr()),
                        gradient);
    ++numGradientsBuilt;
  }
  if (numGradientsBuilt == 0) {
    (void)emitUserError(
        func.getLoc(),
        "there is nothing to train: the loss depends on no trainable parameter",
        trained.empty() ? "the model has no trainable parameter: check "
                          "--trainable and --freeze"
                        : "choose another loss, or other parameters with "
                          "--trainable and --freeze");
    return signalPassFailure();
  }
  results.entries.append(std::next(before.entries.begin()),
                         before.entries.end());
  numGradients += numGradientsBuilt;
  results.apply(step);
  step.eraseUnused();
}
