#include "dialects/ingot/ir/Interfaces.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

#include "dialects/ingot/ir/Interfaces.cpp.inc"

int64_t ingot::detail::elementwiseFlops(Operation *op) {
  int64_t flops = 0;
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (isa<FloatType>(tensor.getElementType()))
        flops += tensor.getNumElements();
  return flops;
}

int64_t ingot::detail::operandAndResultBytes(Operation *op) {
  int64_t bytes = 0;
  auto count = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += tensor.getNumElements() *
               llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  };
  llvm::for_each(op->getOperandTypes(), count);
  llvm::for_each(op->getResultTypes(), count);
  return bytes;
}
