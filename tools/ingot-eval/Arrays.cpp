// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-eval/Arrays.h"

#include "dialects/ingot/support/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/core/DType.h"
#include "runtime/core/Error.h"
#include "runtime/data/Npy.h"

#include <cstring>

using namespace mlir;
using namespace ingot::reference;
namespace runtime = ingot::runtime;

static Tensor toTensor(const runtime::Array &array, const std::string &where,
                       MLIRContext &context) {
  Type element = ingot::getElementType(&context, array.dtype);
  std::vector<char> bytes(array.getElements() * runtime::getSize(array.dtype));
  std::memcpy(bytes.data(), array.data, bytes.size());
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
    // NumPy has no bf16 and no 8-bit floats.
    Type element = tensor.getElementType();
    bool isWidened = isa<FloatType>(element) && !element.isF64() &&
                     !element.isF32() && !element.isF16();
    if (isWidened)
      element = Float32Type::get(element.getContext());
    std::vector<char> bytes = isWidened ? tensor.converted(element).getRawData()
                                        : tensor.getRawData();
    std::string header = runtime::makeNpyHeader(ingot::getDType(element),
                                                tensor.getShape().vec());
    writer.begin(name + ".npy", header.size() + bytes.size());
    writer.write(header);
    writer.write({bytes.data(), bytes.size()});
    writer.end();
  }
  writer.commit();
}
