#include "dialects/ingot/ir/Interfaces.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
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

ingot_dtype ingot::getAbiType(Type element) {
  if (element.isF64())
    return INGOT_F64;
  if (element.isBF16())
    return INGOT_BF16;
  if (element.isF16())
    return INGOT_F16;
  assert(element.isF32() && "library calls compute in floating point");
  return INGOT_F32;
}
