// SPDX-License-Identifier: Apache-2.0

#include "dialects/reference/Interpreter.h"

#include "dialects/ingot/ir/Signature.h"
#include "dialects/reference/RankExchange.h"
#include "dialects/reference/Registry.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

/// Calls nested deeper are taken for endless recursion.
static constexpr int kMaxDepth = 64;

static const Registry &getRegistry() {
  static const Registry registry = [] {
    Registry filled;
    registerElementwise(filled);
    registerShape(filled);
    registerIndexing(filled);
    registerReduction(filled);
    registerContraction(filled);
    registerDistillation(filled);
    registerEncoding(filled);
    registerAttention(filled);
    registerCollective(filled);
    registerExchange(filled);
    registerConvolution(filled);
    registerPooling(filled);
    registerNormalization(filled);
    registerRandom(filled);
    return filled;
  }();
  return registry;
}

/// Puts the op's name and place before what went wrong.
static llvm::Error at(Operation *op, llvm::Error error) {
  std::string place;
  llvm::raw_string_ostream os(place);
  os << '\'' << op->getName() << '\'';
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    os << " (" << name.getName().getValue() << ')';
  else if (auto file = dyn_cast<FileLineColLoc>(op->getLoc()))
    os << " (line " << file.getLine() << ')';
  return invalid(place + ": " + llvm::toString(std::move(error)));
}

static llvm::Expected<RankedTensorType> tensorTypeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return invalid("only tensors can be interpreted");
  if (llvm::Error error = Tensor::checkType(type))
    return std::move(error);
  return type;
}

namespace {
/// The values of one block that is being run. Values are dropped after their
/// last use.
class Scope {
public:
  explicit Scope(int depth) : depth(depth) {}

  /// Returns the operands of the block's terminator.
  llvm::Expected<std::vector<Tensor>> run(Block &block,
                                          std::vector<Tensor> arguments);
  /// Returns the results of all ranks, which run the block together.
  static llvm::Expected<std::vector<std::vector<Tensor>>>
  runRanks(Block &block, std::vector<std::vector<Tensor>> arguments);

private:
  void enter(Block &block, std::vector<Tensor> arguments);
  llvm::Error run(Operation &op);
  llvm::Expected<std::vector<Tensor>> call(func::CallOp op,
                                           std::vector<Tensor> arguments);
  /// Returns the results of a loop, whose operands these are.
  template <typename Loop>
  llvm::Expected<std::vector<Tensor>> iterate(Loop loop, Block &body,
                                              std::vector<Tensor> operands);
  std::vector<Tensor> copyOperands(Operation &op) const;
  void define(Value value, Tensor tensor);
  void release(Operation &op);

  int depth;
  llvm::DenseMap<Value, Tensor> values;
  llvm::DenseMap<Value, int64_t> usesLeft;
};
} // namespace

void Scope::define(Value value, Tensor tensor) {
  if (value.use_empty())
    return;
  usesLeft[value] = std::distance(value.use_begin(), value.use_end());
  values[value] = std::move(tensor);
}

void Scope::release(Operation &op) {
  for (Value operand : op.getOperands())
    if (--usesLeft[operand] == 0)
      values.erase(operand);
}

std::vector<Tensor> Scope::copyOperands(Operation &op) const {
  std::vector<Tensor> copies;
  for (Value operand : op.getOperands())
    copies.push_back(values.at(operand));
  return copies;
}

llvm::Expected<std::vector<Tensor>> Scope::call(func::CallOp op,
                                                std::vector<Tensor> arguments) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!callee || callee.isExternal())
    return invalid("function '" + op.getCallee() + "' has no body");
  if (depth >= kMaxDepth)
    return invalid("calls are nested too deeply");
  return Scope(depth + 1).run(callee.getBody().front(), std::move(arguments));
}

/// Copies one slice along dimension 0.
static void copySlice(Tensor &to, int64_t toSlice, const Tensor &from,
                      int64_t fromSlice, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    to.copy(toSlice * size + i, from, fromSlice * size + i);
}

template <typename Loop>
llvm::Expected<std::vector<Tensor>>
Scope::iterate(Loop loop, Block &body, std::vector<Tensor> operands) {
  size_t carried = loop.countCarried(), sequences = loop.getSequences().size();
  if (body.getNumArguments() != operands.size())
    return invalid("the body takes other values than the loop");
  auto count = static_cast<int64_t>(loop.getCount());
  std::vector<Tensor> outputs;
  for (Value output : loop.getOutputs()) {
    llvm::Expected<RankedTensorType> type = tensorTypeOf(output);
    if (!type)
      return type.takeError();
    outputs.emplace_back(*type);
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = loop.getReverse() ? count - 1 - i : i;
    std::vector<Tensor> arguments = operands;
    for (size_t k = carried; k < carried + sequences; ++k) {
      Tensor slice(cast<RankedTensorType>(body.getArgument(k).getType()));
      copySlice(slice, 0, operands[k], at, slice.size());
      arguments[k] = std::move(slice);
    }
    llvm::Expected<std::vector<Tensor>> yielded =
        Scope(depth).run(body, std::move(arguments));
    if (!yielded)
      return yielded.takeError();
    for (size_t k = 0; k < carried; ++k)
      operands[k] = std::move((*yielded)[k]);
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Tensor &slice = (*yielded)[carried + k];
      copySlice(outputs[k], at, slice, 0, slice.size());
    }
  }
  operands.resize(carried);
  for (Tensor &output : outputs)
    operands.push_back(std::move(output));
  return operands;
}

llvm::Error Scope::run(Operation &op) {
  if (isa<BarrierOp, FusionOp, LoopOp, RepeatOp, func::CallOp>(op)) {
    std::vector<Tensor> results = copyOperands(op);
    if (!isa<BarrierOp>(op)) {
      auto evaluate = [&]() -> llvm::Expected<std::vector<Tensor>> {
        if (auto fusion = dyn_cast<FusionOp>(op))
          return Scope(depth).run(fusion.getBody().front(), std::move(results));
        if (auto loop = dyn_cast<LoopOp>(op))
          return iterate(loop, loop.getBlock(), std::move(results));
        if (auto repeat = dyn_cast<RepeatOp>(op))
          return iterate(repeat, findBody(repeat).getBody().front(),
                         std::move(results));
        return call(cast<func::CallOp>(op), std::move(results));
      };
      llvm::Expected<std::vector<Tensor>> inner = evaluate();
      if (!inner)
        return inner.takeError();
      results = std::move(*inner);
    }
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), results))
      define(value, std::move(tensor));
    return llvm::Error::success();
  }

  SmallVector<const Tensor *> operands;
  for (Value operand : op.getOperands())
    operands.push_back(&values.at(operand));
  llvm::Expected<SmallVector<Tensor>> results = evaluateOp(&op, operands);
  if (!results)
    return results.takeError();
  for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results))
    define(value, std::move(tensor));
  return llvm::Error::success();
}

void Scope::enter(Block &block, std::vector<Tensor> arguments) {
  for (auto [value, tensor] : llvm::zip_equal(block.getArguments(), arguments))
    define(value, std::move(tensor));
}

llvm::Expected<std::vector<std::vector<Tensor>>>
Scope::runRanks(Block &block, std::vector<std::vector<Tensor>> arguments) {
  std::vector<Scope> ranks;
  for (std::vector<Tensor> &own : arguments)
    ranks.emplace_back(/*depth=*/0).enter(block, std::move(own));
  for (Operation &op : block.without_terminator()) {
    for (Scope &rank : ranks)
      if (llvm::Error error = rank.run(op))
        return at(&op, std::move(error));
    if (llvm::Error error = checkRanks(&op, static_cast<int64_t>(ranks.size())))
      return at(&op, std::move(error));
    if (knowsRanks(&op)) {
      std::vector<SmallVector<Tensor>> results;
      std::vector<SmallVector<const Tensor *>> operands;
      for (Scope &rank : ranks) {
        results.push_back(llvm::map_to_vector(
            op.getResults(), [&](Value v) { return rank.values.lookup(v); }));
        operands.push_back(llvm::map_to_vector(
            op.getOperands(),
            [&](Value v) -> const Tensor * { return &rank.values.at(v); }));
      }
      combineRanks(&op, llvm::to_vector_of<Operands>(operands),
                   llvm::to_vector_of<Results>(results));
      for (auto [rank, own] : llvm::zip_equal(ranks, results))
        for (auto [value, tensor] : llvm::zip_equal(op.getResults(), own))
          if (!value.use_empty())
            rank.values[value] = std::move(tensor);
    }
    for (Scope &rank : ranks)
      rank.release(op);
  }
  std::vector<std::vector<Tensor>> returned;
  for (Scope &rank : ranks)
    returned.push_back(rank.copyOperands(*block.getTerminator()));
  return returned;
}

llvm::Expected<std::vector<Tensor>> Scope::run(Block &block,
                                               std::vector<Tensor> arguments) {
  enter(block, std::move(arguments));
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      if (!isa<func::ReturnOp, YieldOp>(op))
        return at(&op, invalid("the interpreter does not support branches"));
      return copyOperands(op);
    }
    if (llvm::Error error = checkRanks(&op, /*ranks=*/1))
      return at(&op, std::move(error));
    if (llvm::Error error = run(op))
      return at(&op, std::move(error));
    release(op);
  }
  return invalid("the block has no terminator");
}

llvm::Expected<SmallVector<Tensor>>
ingot::reference::evaluateOp(Operation *op,
                             llvm::ArrayRef<const Tensor *> operands) {
  const Registry::Function *function =
      getRegistry().lookup(op->getName().getStringRef());
  if (!function)
    return invalid("the interpreter does not support this op");
  SmallVector<Tensor> results;
  for (Value result : op->getResults()) {
    llvm::Expected<RankedTensorType> type = tensorTypeOf(result);
    if (!type)
      return type.takeError();
    results.emplace_back(*type);
  }
  if (llvm::Error error = (*function)(op, Operands(operands), results))
    return std::move(error);
  for (Tensor &tensor : results)
    tensor.roundToElementType();
  return std::move(results);
}

bool ingot::reference::isKnown(llvm::StringRef opName) {
  return getRegistry().lookup(opName) != nullptr;
}

/// Returns whether the function can be run on these arguments.
static llvm::Error check(func::FuncOp function,
                         const std::vector<Tensor> &arguments) {
  if (function.isExternal())
    return invalid("function '" + function.getName() + "' has no body");
  if (!function.getBody().hasOneBlock())
    return invalid("function '" + function.getName() +
                   "' has branches, which the interpreter does not support");
  if (arguments.size() != function.getNumArguments())
    return invalid("function '" + function.getName() + "' takes " +
                   llvm::Twine(function.getNumArguments()) +
                   " arguments, got " + llvm::Twine(arguments.size()));
  for (auto [i, want] : llvm::enumerate(function.getArgumentTypes())) {
    if (want == arguments[i].getType())
      continue;
    std::string text;
    llvm::raw_string_ostream(text)
        << "argument " << i << " of function '" << function.getName()
        << "' has type " << want << ", got " << arguments[i].getType();
    return invalid(text);
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<Tensor>>
ingot::reference::evaluate(func::FuncOp function,
                           std::vector<Tensor> arguments) {
  if (llvm::Error error = check(function, arguments))
    return std::move(error);
  return Scope(/*depth=*/0)
      .run(function.getBody().front(), std::move(arguments));
}

llvm::Expected<std::vector<std::vector<Tensor>>>
ingot::reference::evaluateRanks(func::FuncOp function,
                                std::vector<std::vector<Tensor>> arguments) {
  for (const std::vector<Tensor> &own : arguments)
    if (llvm::Error error = check(function, own))
      return std::move(error);
  return Scope::runRanks(function.getBody().front(), std::move(arguments));
}
