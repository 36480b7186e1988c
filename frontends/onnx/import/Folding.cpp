// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/import/Folding.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/reference/Interpreter.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

/// Larger results are computed at run time: they would bloat the module.
static constexpr int64_t kLargestResult = int64_t(1) << 16;

/// Returns the results of an op whose operands are all constant, by the
/// interpreter.
static std::optional<SmallVector<DenseElementsAttr>> evaluate(Operation *op) {
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getNumElements() > kLargestResult)
      return std::nullopt;
  }
  SmallVector<reference::Tensor> operands;
  for (Value operand : op->getOperands()) {
    DenseElementsAttr attr;
    // A large constant is read only as part of a small one.
    if (!matchPattern(operand, m_Constant(&attr)) ||
        attr.getNumElements() > 16 * kLargestResult)
      return std::nullopt;
    llvm::Expected<reference::Tensor> tensor =
        reference::Tensor::fromAttribute(attr);
    if (!tensor) {
      llvm::consumeError(tensor.takeError());
      return std::nullopt;
    }
    operands.push_back(std::move(*tensor));
  }
  SmallVector<const reference::Tensor *> pointers;
  for (const reference::Tensor &operand : operands)
    pointers.push_back(&operand);
  llvm::Expected<SmallVector<reference::Tensor>> results =
      reference::evaluateOp(op, pointers);
  if (!results) {
    llvm::consumeError(results.takeError());
    return std::nullopt;
  }
  SmallVector<DenseElementsAttr> attrs;
  for (const reference::Tensor &result : *results)
    attrs.push_back(result.toAttribute());
  return attrs;
}

void onnx_import::foldFrom(OpBuilder &builder, Operation *first,
                           llvm::function_ref<void(Value, Value)> replaced) {
  // Ops are erased together, after all replacements have been created: a new
  // value in the memory of an old one would be mistaken for it.
  SmallVector<Operation *> dead;
  for (Operation *op = first, *next = nullptr; op; op = next) {
    next = op->getNextNode();
    if (op->hasTrait<OpTrait::ConstantLike>() || op->getNumResults() == 0 ||
        !isMemoryEffectFree(op))
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    SmallVector<Value> results;
    if (failed(builder.tryFold(op, results))) {
      auto constants = evaluate(op);
      if (!constants)
        continue;
      results.clear();
      for (DenseElementsAttr constant : *constants)
        results.push_back(ConstantOp::create(builder, op->getLoc(),
                                             constant.getType(), constant));
    }
    // Some folders change the op in place and return no results.
    if (results.empty())
      continue;
    for (auto [from, to] : llvm::zip_equal(op->getResults(), results)) {
      from.replaceAllUsesWith(to);
      replaced(from, to);
    }
    dead.push_back(op);
  }
  for (Operation *op : llvm::reverse(dead))
    op->erase();
}
