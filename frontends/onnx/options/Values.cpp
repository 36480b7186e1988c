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

/// Returns the shape of a bound input; fails if a size is not known, or the
/// values do not fill it.
static FailureOr<SmallVector<int64_t>>
shapeOf(MLIRContext *context, const onnx::ValueInfoProto &input, size_t count,
        const DimSizes &dims) {
  const auto &tensor = input.type().tensor_type();
  SmallVector<int64_t> shape;
  SmallVector<std::string> open;
  for (auto [i, dim] : llvm::enumerate(tensor.shape().dim())) {
    auto bound = dims.find(dim.dim_param());
    if (!dim.dim_param().empty() && bound != dims.end()) {
      shape.push_back(bound->second.front());
    } else if (dim.has_dim_value() && dim.dim_value() >= 0) {
      shape.push_back(dim.dim_value());
    } else {
      shape.push_back(static_cast<int64_t>(count));
      open.push_back(dim.dim_param().empty() ? "dimension " + std::to_string(i)
                                             : "'" + dim.dim_param() + "'");
    }
  }
  if (!open.empty() && shape.size() > 1)
    return emitOptionError(context, kOption,
                           "sizes of '" + Twine(input.name()) +
                               "' are not known: " + llvm::join(open, ", "),
                           "bind them with --dim NAME=N, or export the model "
                           "with fixed ones");
  // One value may fill a large state; those of a command line are few.
  int64_t most = count == 1 ? int64_t(1) << 31 : int64_t(1) << 20;
  int64_t elements = 1;
  bool fits = true;
  for (int64_t size : shape) {
    fits = fits && size <= most && elements * size <= most;
    elements = fits ? elements * size : 0;
  }
  if (!fits || (count != 1 && elements != static_cast<int64_t>(count)))
    return emitOptionError(
        context, kOption,
        Twine(count) + (count == 1 ? " value does" : " values do") +
            " not fill '" + input.name() + "'",
        "give one value for all its elements, or each of them, and no more "
        "than 1,048,576");
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
                       ArrayRef<std::string> values, const DimSizes &dims) {
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
  FailureOr<SmallVector<int64_t>> shape =
      shapeOf(context, input, values.size(), dims);
  if (failed(shape))
    return failure();
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
