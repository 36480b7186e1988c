// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/TensorTypes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;

int64_t ingot::byteSize(ShapedType type) {
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

FloatType ingot::typeOfPrecision(MLIRContext *context, StringRef name) {
  if (name == "fp32")
    return Float32Type::get(context);
  if (name == "bf16")
    return BFloat16Type::get(context);
  return name == "fp16" ? FloatType(Float16Type::get(context)) : FloatType();
}

Type ingot::elementInPrecision(Type element, StringRef precision) {
  FloatType chosen = typeOfPrecision(element.getContext(), precision);
  return element.isF32() && chosen ? chosen : element;
}

RankedTensorType ingot::withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element);
}

RankedTensorType ingot::dropDims(RankedTensorType type,
                                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      shape.push_back(size);
  return RankedTensorType::get(shape, type.getElementType());
}

Type ingot::codeType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Type ingot::accumulatorType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  return codeType(element);
}
