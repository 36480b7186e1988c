// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/Interfaces.h"

#include "dialects/ingot/ir/TensorTypes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace ingot;

#include "dialects/ingot/ir/Interfaces.cpp.inc"

int64_t ingot::detail::elementwiseFlops(Operation *op) {
  int64_t flops = 0;
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (isa<FloatType>(tensor.getElementType()))
        flops += tensor.getNumElements();
  return flops;
}

Type ingot::detail::accumulatorOf(Operation *reduction) {
  return accumulatorType(tensorType(reduction->getOperand(0)).getElementType());
}

SmallVector<int64_t> ingot::detail::sameDims(Value tensor) {
  return llvm::to_vector(llvm::seq<int64_t>(
      0, cast<RankedTensorType>(tensor.getType()).getRank()));
}

int64_t ingot::detail::operandAndResultBytes(Operation *op) {
  int64_t bytes = 0;
  auto count = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += byteSize(tensor);
  };
  llvm::for_each(op->getOperandTypes(), count);
  llvm::for_each(op->getResultTypes(), count);
  return bytes;
}

bool ingot::detail::isComposite(Operation *op) { return isa<Decomposable>(op); }

SmallVector<CallBuffer> ingot::detail::operandsAndResults(Operation *op) {
  SmallVector<CallBuffer> buffers;
  for (Value operand : op->getOperands())
    buffers.push_back({operand});
  for (Value result : op->getResults())
    buffers.push_back({result});
  return buffers;
}
