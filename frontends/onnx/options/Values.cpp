// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/options/Values.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/NarrowTypes.h"
#include "frontends/onnx/model/Tensors.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static constexpr llvm::StringLiteral kOption = "value";

llvm::Expected<InputValues>
onnx_import::parseValues(llvm::ArrayRef<std::string> texts) {
  InputValues result;
  for (StringRef text : texts) {
    auto [name, list] = text.rsplit('=');
    std::vector<std::string> values;
    for (StringRef value : llvm::split(list, ','))
      values.push_back(value.trim().str());
    if (name.empty() || name.size() == text.size() ||
        llvm::is_contained(values, ""))
      return makeOptionError(kOption,
                             "'" + text + "' is not NAME=V or NAME=V,V...",
                             "give an input and its value, like --value k=5 or "
                             "--value sizes=2,3");
    if (!result.try_emplace(name.str(), std::move(values)).second)
      return makeOptionError(kOption, "'" + name + "' is given twice",
                             "give each input once, with all its values");
  }
  return result;
}

/// Returns the shape of a bound input; fails if the values do not fill it.
static FailureOr<SmallVector<int64_t>>
shapeOf(const onnx::TypeProto_Tensor &tensor, size_t count) {
  SmallVector<int64_t> shape;
  int64_t elements = 1, open = 0;
  for (const auto &dim : tensor.shape().dim()) {
    bool isKnown = dim.has_dim_value() && dim.dim_value() >= 0;
    open += !isKnown;
    shape.push_back(isKnown ? dim.dim_value() : static_cast<int64_t>(count));
    // Values on a command line are few.
    if (shape.back() > (1 << 20) || (elements *= shape.back()) > (1 << 20))
      return failure();
  }
  bool fits = (open == 0 || shape.size() == 1) &&
              (count == 1 || elements == static_cast<int64_t>(count));
  if (!fits)
    return failure();
  return shape;
}

static std::optional<Attribute> parseElement(Type element, StringRef text) {
  if (auto type = dyn_cast<FloatType>(element)) {
    APFloat value(type.getFloatSemantics());
    auto status = value.convertFromString(text, APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return std::nullopt;
    }
    return FloatAttr::get(type, value);
  }
  auto type = cast<IntegerType>(element);
  if (type.getWidth() == 1 && (text == "true" || text == "false"))
    return IntegerAttr::get(type, APInt(1, text == "true"));
  APInt value;
  bool isNegative = text.consume_front("-");
  if (text.getAsInteger(10, value))
    return std::nullopt;
  // A bit more, so that the sign and the largest unsigned number have room.
  value = value.zext(std::max(value.getBitWidth(), type.getWidth()) + 1);
  if (isNegative)
    value.negate();
  bool fits = type.isUnsigned() || type.getWidth() == 1
                  ? !isNegative && value.isIntN(type.getWidth())
                  : value.isSignedIntN(type.getWidth());
  if (!fits)
    return std::nullopt;
  return IntegerAttr::get(type, value.trunc(type.getWidth()));
}

FailureOr<DenseElementsAttr>
onnx_import::bindInput(MLIRContext *context, const onnx::ValueInfoProto &input,
                       ArrayRef<std::string> values) {
  const auto &tensor = input.type().tensor_type();
  Type element = elementType(context, tensor.elem_type());
  if (!element || narrowType(tensor.elem_type()) ||
      !isa<FloatType, IntegerType>(element))
    return emitOptionError(context, kOption,
                           "'" + Twine(input.name()) +
                               "' has the element type " +
                               dataTypeName(tensor.elem_type()) +
                               ", which has no values on a command line",
                           "bind integers, booleans and floats");
  FailureOr<SmallVector<int64_t>> shape = shapeOf(tensor, values.size());
  if (failed(shape))
    return emitOptionError(context, kOption,
                           Twine(values.size()) + " values do not fill '" +
                               input.name() + "'",
                           "give one value for all its elements, or each of "
                           "them, and no more than 1,048,576");
  SmallVector<Attribute> elements;
  for (StringRef text : values) {
    std::optional<Attribute> value = parseElement(element, text);
    if (!value)
      return emitOptionError(
          context, kOption,
          "'" + text + "' is no value of '" + input.name() + "'",
          "its elements are " + dataTypeName(tensor.elem_type()));
    elements.push_back(*value);
  }
  return DenseElementsAttr::get(RankedTensorType::get(*shape, element),
                                elements);
}

LogicalResult onnx_import::checkValues(MLIRContext *context,
                                       const onnx::GraphProto &graph,
                                       const InputValues &values) {
  for (const auto &entry : values) {
    auto isNamed = [&](const onnx::ValueInfoProto &input) {
      return input.name() == entry.first;
    };
    if (llvm::any_of(graph.input(), isNamed))
      continue;
    SmallVector<std::string> names;
    for (const onnx::ValueInfoProto &input : graph.input())
      names.push_back(input.name());
    return emitOptionError(context, kOption,
                           "no input is called '" + Twine(entry.first) + "'",
                           "the inputs are: " + llvm::join(names, ", "));
  }
  return success();
}
