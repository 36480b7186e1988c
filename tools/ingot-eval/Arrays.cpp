// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-eval/Arrays.h"

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/core/DType.h"
#include "runtime/core/Error.h"
#include "runtime/data/Npy.h"

using namespace mlir;
using namespace ingot::reference;
namespace runtime = ingot::runtime;
using runtime::DType;

/// Returns the element type that holds a file's elements, and how they are
/// read.
static std::pair<Type, DType> elementFor(DType dtype, MLIRContext &context) {
  switch (dtype) {
  case DType::F64:
    return {Float64Type::get(&context), dtype};
  case DType::F32:
    return {Float32Type::get(&context), dtype};
  case DType::F16:
    return {Float16Type::get(&context), dtype};
  case DType::BF16:
    return {BFloat16Type::get(&context), dtype};
  case DType::I32:
    return {IntegerType::get(&context, 32), dtype};
  case DType::I16:
    return {IntegerType::get(&context, 16), dtype};
  case DType::I8:
    return {IntegerType::get(&context, 8), dtype};
  case DType::U8:
    return {IntegerType::get(&context, 8, IntegerType::Unsigned), dtype};
  case DType::Bool:
    return {IntegerType::get(&context, 1), dtype};
  case DType::I64:
    return {IntegerType::get(&context, 64), dtype};
  case DType::U16:
    return {IntegerType::get(&context, 16, IntegerType::Unsigned), dtype};
  case DType::U32:
    return {IntegerType::get(&context, 32, IntegerType::Unsigned), dtype};
  case DType::U64:
    return {IntegerType::get(&context, 64, IntegerType::Unsigned), dtype};
  }
  llvm_unreachable("unknown element type");
}

static DType dtypeOf(Type element) {
  if (element.isF64())
    return DType::F64;
  if (element.isF32() || element.isBF16())
    return DType::F32;
  if (element.isF16())
    return DType::F16;
  if (element.isInteger(1))
    return DType::Bool;
  bool isUnsigned = element.isUnsignedInteger();
  if (element.isInteger(8))
    return isUnsigned ? DType::U8 : DType::I8;
  if (element.isInteger(16))
    return isUnsigned ? DType::U16 : DType::I16;
  if (element.isInteger(32))
    return isUnsigned ? DType::U32 : DType::I32;
  return isUnsigned ? DType::U64 : DType::I64;
}

static Tensor toTensor(const runtime::Array &array, const std::string &where,
                       MLIRContext &context) {
  auto [element, dtype] = elementFor(array.dtype, context);
  int64_t count = array.getElements();
  std::vector<char> bytes(count * runtime::getSize(dtype));
  runtime::convert(array.data, array.dtype, bytes.data(), dtype, count);
  llvm::Expected<Tensor> tensor =
      Tensor::fromRawData(RankedTensorType::get(array.shape, element), bytes);
  if (!tensor)
    throw runtime::badInput(where, llvm::toString(tensor.takeError()),
                            "give the interpreter smaller arrays");
  return std::move(*tensor);
}

NamedTensors readArrays(const std::string &path, const std::string &single,
                        MLIRContext &context) {
  runtime::ArrayFile file(path);
  NamedTensors tensors;
  if (file.isSingle())
    tensors[single] = toTensor(file.read(""), path, context);
  else
    for (const std::string &name : file.getNames())
      tensors[name] = toTensor(file.read(name), path + ":" + name, context);
  return tensors;
}

void writeArrays(const std::string &path, const NamedTensors &tensors) {
  runtime::ZipWriter writer(path);
  for (const auto &[name, tensor] : tensors) {
    bool isBFloat = tensor.getElementType().isBF16();
    std::vector<char> bytes =
        isBFloat
            ? tensor.converted(Float32Type::get(tensor.getType().getContext()))
                  .getRawData()
            : tensor.getRawData();
    std::string header = runtime::makeNpyHeader(
        dtypeOf(tensor.getElementType()), tensor.getShape().vec());
    writer.begin(name + ".npy", header.size() + bytes.size());
    writer.write(header);
    writer.write({bytes.data(), bytes.size()});
    writer.end();
  }
  writer.commit();
}
