// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/place/StepParts.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Views.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace ingot;

static constexpr StringLiteral kForward = "forward", kBackward = "backward",
                               kOptimizer = "optimizer";

/// Returns the operands that a result is computed from: of a fusion, those that
/// its body uses for it.
static SmallVector<Value> getSources(OpResult result) {
  Operation *op = result.getOwner();
  auto fusion = dyn_cast<FusionOp>(op);
  if (!fusion)
    return SmallVector<Value>(op->getOperands());
  Block &body = fusion.getBody().front();
  SetVector<Value> inside;
  inside.insert(body.getTerminator()->getOperand(result.getResultNumber()));
  SmallVector<Value> sources;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(inside[i])) {
      sources.push_back(fusion.getOperand(argument.getArgNumber()));
      continue;
    }
    for (Value operand : inside[i].getDefiningOp()->getOperands())
      inside.insert(operand);
  }
  return sources;
}

void StepParts::addForward(Value loss) {
  SetVector<Value> needed;
  needed.insert(loss);
  for (size_t i = 0; i < needed.size(); ++i)
    if (auto result = dyn_cast<OpResult>(needed[i])) {
      parts[result.getOwner()] = kForward;
      needed.insert_range(getSources(result));
    }
}

/// Whether the optimizer computes new values of such a state.
static bool isUpdated(Role role) {
  switch (role) {
  case Role::Parameter:
  case Role::LowCopy:
  case Role::LowerHalf:
  case Role::Moment:
  case Role::Step:
  case Role::LossScale:
  case Role::Magnitudes:
    return true;
  default:
    return false;
  }
}

void StepParts::findUpdates(Signature signature, SymbolTable &symbols) {
  Operation *end = signature.getReturn();
  for (OpOperand &returned : end->getOpOperands()) {
    FlatSymbolRefAttr symbol =
        signature.resultState(returned.getOperandNumber());
    auto state = symbol ? symbols.lookup<StateOp>(symbol.getAttr()) : StateOp();
    auto result = dyn_cast<OpResult>(resolveViews(returned.get()));
    if (!state || !result || !isUpdated(state.getRole()) ||
        parts.lookup(result.getOwner()) == kForward)
      continue;
    candidates.insert(result.getOwner());
    // The tensors that it is computed from, besides states.
    llvm::SmallSetVector<Value, 4> tensors;
    for (Value source : getSources(result))
      if (source = resolveViews(source);
          source.getDefiningOp() && tensorType(source).getNumElements() > 1)
        tensors.insert(source);
    auto isLikeGradient = [&](Value source) {
      return parts.lookup(source.getDefiningOp()) != kForward &&
             tensorType(source).getNumElements() ==
                 tensorType(result).getNumElements() &&
             isa<FloatType>(tensorType(source).getElementType());
    };
    for (Value source : llvm::make_filter_range(tensors, isLikeGradient))
      read.push_back(source);
    // Of several tensors, the kernel of the update computes the gradient.
    if (state.getRole() == Role::Parameter && tensors.size() == 1 &&
        isLikeGradient(tensors[0]))
      gradients.push_back({symbol, tensors[0]});
  }
}

/// Finds what depends on gradients and is none.
void StepParts::findReaders() {
  SmallPtrSet<Operation *, 16> producers;
  for (Value gradient : read)
    producers.insert(gradient.getDefiningOp());
  SetVector<Value> values(read.begin(), read.end());
  for (size_t i = 0; i < values.size(); ++i)
    for (Operation *user : values[i].getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>() ||
          parts.lookup(user) == kForward)
        continue;
      if (!producers.contains(user))
        candidates.insert(user);
      values.insert_range(user->getResults());
    }
}

/// Finds scalars that depend on no sample.
void StepParts::findPreparations(Block &body) {
  SmallPtrSet<Operation *, 16> fixed;
  for (Operation &op : body.without_terminator())
    if (!parts.contains(&op) &&
        llvm::all_of(op.getResults(),
                     [](Value value) {
                       return tensorType(value).getNumElements() <= 1;
                     }) &&
        llvm::all_of(op.getOperands(), [&](Value value) {
          Operation *source = value.getDefiningOp();
          return !source || fixed.contains(source);
        })) {
      fixed.insert(&op);
      candidates.insert(&op);
    }
}

StepParts::StepParts(Signature signature) {
  std::optional<unsigned> loss = signature.findResult("loss");
  if (!loss)
    return;
  func::FuncOp func = signature.getFunction();
  SymbolTable symbols(func->getParentOfType<ModuleOp>());
  addForward(signature.getReturn()->getOperand(*loss));
  findUpdates(signature, symbols);
  findReaders();
  Block &body = func.getBody().front();
  findPreparations(body);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    bool isOptimizers = candidates.contains(&op) &&
                        llvm::all_of(op.getUsers(), [&](Operation *user) {
                          return user->hasTrait<OpTrait::IsTerminator>() ||
                                 parts.lookup(user) == kOptimizer;
                        });
    parts.try_emplace(&op, isOptimizers ? kOptimizer : kBackward);
  }
}
