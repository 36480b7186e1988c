// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/Tensors.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/NarrowTypes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"
#include <cstddef>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

using onnx::TensorProto;

Type onnx_import::elementType(MLIRContext *context, int32_t dataType) {
  switch (dataType) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::INT64:
    return IntegerType::get(context, 64);
  case TensorProto::INT32:
    return IntegerType::get(context, 32);
  case TensorProto::INT16:
    return IntegerType::get(context, 16);
  case TensorProto::INT8:
    return IntegerType::get(context, 8);
  case TensorProto::UINT64:
    return IntegerType::get(context, 64, IntegerType::Unsigned);
  case TensorProto::UINT32:
    return IntegerType::get(context, 32, IntegerType::Unsigned);
  case TensorProto::UINT16:
    return IntegerType::get(context, 16, IntegerType::Unsigned);
  case TensorProto::UINT8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case TensorProto::BOOL:
    return IntegerType::get(context, 1);
  default:
    return nullptr;
  }
}

Type onnx_import::storageType(MLIRContext *context, int32_t dataType) {
  if (std::optional<NarrowType> narrow = narrowType(dataType))
    return narrowStorage(context, *narrow);
  return elementType(context, dataType);
}

int32_t onnx_import::dataTypeOf(Type element) {
  for (int32_t dataType :
       {TensorProto::FLOAT, TensorProto::DOUBLE, TensorProto::FLOAT16,
        TensorProto::BFLOAT16, TensorProto::INT64, TensorProto::INT32,
        TensorProto::INT16, TensorProto::INT8, TensorProto::UINT64,
        TensorProto::UINT32, TensorProto::UINT16, TensorProto::UINT8,
        TensorProto::BOOL})
    if (elementType(element.getContext(), dataType) == element)
      return dataType;
  return TensorProto::UNDEFINED;
}

std::string onnx_import::dataTypeName(int32_t dataType) {
  std::string name = onnx::TensorProto_DataType_Name(
      static_cast<onnx::TensorProto_DataType>(dataType));
  return name.empty() ? std::to_string(dataType) : name;
}

RankedTensorType onnx_import::tensorType(MLIRContext *context,
                                         const TensorProto &tensor) {
  return RankedTensorType::get(
      SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()),
      storageType(context, tensor.data_type()));
}

static int64_t elementBytes(int32_t dataType) {
  switch (dataType) {
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return 8;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
  case TensorProto::UINT16:
    return 2;
  default:
    return 1;
  }
}

/// Returns the field's values, each as the low bytes of an element.
template <typename Field>
static std::string packField(const Field &field, int64_t width) {
  std::string bytes(field.size() * width, '\0');
  for (int i = 0; i < field.size(); ++i) {
    auto value = field.Get(i);
    std::memcpy(bytes.data() + i * width, &value, width);
  }
  return bytes;
}

/// Returns the elements; raw data is moved if `raw` is the tensor's.
static FailureOr<std::string>
getBytes(Location where, const TensorProto &tensor, std::string *raw) {
  auto fail = [&](const Twine &what) {
    return emitUserError(where, "tensor '" + Twine(tensor.name()) + "' " + what,
                         "the file is damaged; export the model again");
  };
  int32_t dataType = tensor.data_type();
  if (!storageType(where.getContext(), dataType))
    return emitUserError(
        where,
        "tensor '" + Twine(tensor.name()) + "' has the element type " +
            dataTypeName(dataType) + ", which is not supported",
        "convert it to a floating-point, integer or BOOL type before "
        "exporting");
  if (tensor.data_location() == TensorProto::EXTERNAL)
    return fail("is stored in another file where that is not allowed");
  if (hasNoData(tensor))
    return emitUserError(where,
                         "tensor '" + Twine(tensor.name()) +
                             "' has no data, and is a constant",
                         "of constants the data has to be in the model");
  int64_t width = elementBytes(dataType), total = width;
  for (int64_t size : tensor.dims()) {
    if (size < 0)
      return fail("has a negative size");
    if (size && total > (int64_t(1) << 46) / size)
      return fail("is too large");
    total *= size;
  }
  std::string bytes;
  if (raw) {
    bytes = std::move(*raw);
  } else if (tensor.has_raw_data()) {
    bytes = rawBytes(tensor).str();
  } else {
    switch (dataType) {
    case TensorProto::FLOAT:
      bytes = packField(tensor.float_data(), width);
      break;
    case TensorProto::DOUBLE:
      bytes = packField(tensor.double_data(), width);
      break;
    case TensorProto::INT64:
      bytes = packField(tensor.int64_data(), width);
      break;
    case TensorProto::UINT64:
    case TensorProto::UINT32:
      bytes = packField(tensor.uint64_data(), width);
      break;
    default:
      bytes = packField(tensor.int32_data(), width);
    }
  }
  if (std::optional<NarrowType> narrow = narrowType(dataType)) {
    int64_t packed = llvm::divideCeil(total * narrow->width, 8);
    if (static_cast<int64_t>(bytes.size()) != packed)
      return fail("holds " + Twine(bytes.size()) + " bytes instead of " +
                  Twine(packed));
    return unpackNarrow(*narrow, bytes, total);
  }
  if (static_cast<int64_t>(bytes.size()) != total)
    return fail("holds " + Twine(bytes.size()) + " bytes instead of " +
                Twine(total));
  return bytes;
}

FailureOr<std::string> onnx_import::tensorBytes(Location where,
                                                const TensorProto &tensor) {
  return getBytes(where, tensor, /*raw=*/nullptr);
}

FailureOr<std::string> onnx_import::takeBytes(Location where,
                                              TensorProto &tensor) {
  return getBytes(where, tensor,
                  tensor.has_raw_data() && !isMapped(tensor)
                      ? tensor.mutable_raw_data()
                      : nullptr);
}

DenseElementsAttr onnx_import::denseAttr(RankedTensorType type,
                                         StringRef bytes) {
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> values;
    for (char byte : bytes)
      values.push_back(byte != 0);
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef(bytes.data(), bytes.size()));
}

/// Returns true if all elements have the same bytes.
static bool isSplat(StringRef bytes, int64_t count) {
  if (count == 0)
    return false;
  size_t width = bytes.size() / count;
  return bytes.drop_front(width) == bytes.drop_back(width);
}

ElementsAttr onnx_import::elementsAttr(RankedTensorType type, std::string bytes,
                                       StringRef name) {
  constexpr int64_t kFew = 16;
  int64_t count = type.getNumElements();
  if (isSplat(bytes, count)) {
    DenseElementsAttr one =
        denseAttr(RankedTensorType::get({1}, type.getElementType()),
                  StringRef(bytes).take_front(bytes.size() / count));
    return one.resizeSplat(type);
  }
  if (count <= kFew || type.getElementType().isInteger(1))
    return denseAttr(type, bytes);
  // The string stays where it is, and so do its bytes.
  auto owned = std::make_unique<std::string>(std::move(bytes));
  ArrayRef<char> data(owned->data(), owned->size());
  AsmResourceBlob blob(
      data, alignof(std::max_align_t),
      [owned = std::move(owned)](void *, size_t, size_t) mutable {
        owned.reset();
      },
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}
