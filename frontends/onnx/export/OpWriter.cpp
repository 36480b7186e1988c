// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/export/OpWriter.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_export;

onnx::TensorProto_DataType onnx_export::dataType(Type element) {
  if (element.isF32())
    return onnx::TensorProto::FLOAT;
  if (element.isF64())
    return onnx::TensorProto::DOUBLE;
  if (element.isF16())
    return onnx::TensorProto::FLOAT16;
  if (element.isBF16())
    return onnx::TensorProto::BFLOAT16;
  if (element.isInteger(1))
    return onnx::TensorProto::BOOL;
  if (element.isUnsignedInteger(8))
    return onnx::TensorProto::UINT8;
  if (element.isInteger(8))
    return onnx::TensorProto::INT8;
  if (element.isInteger(32))
    return onnx::TensorProto::INT32;
  if (element.isInteger(64))
    return onnx::TensorProto::INT64;
  return onnx::TensorProto::UNDEFINED;
}

void onnx_export::describe(onnx::ValueInfoProto &info, StringRef name,
                           Type type) {
  auto tensor = cast<RankedTensorType>(type);
  info.set_name(name.str());
  auto &proto = *info.mutable_type()->mutable_tensor_type();
  proto.set_elem_type(dataType(tensor.getElementType()));
  proto.mutable_shape();
  for (int64_t size : tensor.getShape())
    proto.mutable_shape()->add_dim()->set_dim_value(size);
}

const WriterRegistry &WriterRegistry::get() {
  static const WriterRegistry registry = [] {
    WriterRegistry table;
    registerElementwiseWriters(table);
    registerShapeWriters(table);
    registerWindowWriters(table);
    return table;
  }();
  return registry;
}

LogicalResult OpWriter::write(Operation *op) {
  location = llvm::join(nodeNames(op->getLoc()), "+");
  WriteOp write = WriterRegistry::get().lookup(op);
  if (write && succeeded(write(*this, op)))
    return success();
  return emitUserError(
      op->getLoc(), "ONNX has no operator for " + op->getName().getStringRef(),
      "write the step in fp32, on one rank, of a model "
      "without dropout");
}

std::vector<std::string>
OpWriter::nodes(StringRef op, std::vector<std::string> inputs, unsigned results,
                std::initializer_list<NodeAttr> attributes) {
  onnx::NodeProto &proto = *graph.add_node();
  proto.set_op_type(op.str());
  std::string number = std::to_string(count++);
  proto.set_name((location.empty() ? "" : location + "/") + op.str() + "_" +
                 number);
  for (std::string &input : inputs)
    proto.add_input(std::move(input));
  std::vector<std::string> outputs;
  for (unsigned i = 0; i < results; ++i) {
    outputs.push_back(graph.name() + "/value" + number +
                      (i ? "." + std::to_string(i) : ""));
    proto.add_output(outputs.back());
  }
  for (const NodeAttr &attribute : attributes) {
    onnx::AttributeProto &added = *proto.add_attribute();
    added.set_name(attribute.name);
    if (const auto *number = std::get_if<int64_t>(&attribute.value)) {
      added.set_type(onnx::AttributeProto::INT);
      added.set_i(*number);
    } else if (const auto *text = std::get_if<std::string>(&attribute.value)) {
      added.set_type(onnx::AttributeProto::STRING);
      added.set_s(*text);
    } else {
      added.set_type(onnx::AttributeProto::INTS);
      for (int64_t each : std::get<SmallVector<int64_t>>(attribute.value))
        added.add_ints(each);
    }
  }
  return outputs;
}

std::string OpWriter::constant(DenseElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  onnx::TensorProto tensor;
  tensor.set_data_type(dataType(type.getElementType()));
  for (int64_t size : type.getShape())
    tensor.add_dims(size);
  std::string bytes;
  bool isBool = type.getElementType().isInteger(1);
  ArrayRef<char> raw = value.getRawData();
  if (isBool)
    for (bool element : value.getValues<bool>())
      bytes.push_back(element);
  else if (value.isSplat())
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      bytes.append(raw.data(), raw.size());
  else
    bytes.assign(raw.data(), raw.size());
  std::string &name = constants[{tensor.SerializeAsString(), bytes}];
  if (name.empty()) {
    name = graph.name() + "/constant" + std::to_string(constants.size());
    tensor.set_name(name);
    tensor.set_raw_data(bytes);
    *graph.add_initializer() = std::move(tensor);
  }
  return name;
}

std::string OpWriter::ints(Ints values) {
  auto count = static_cast<int64_t>(values.size());
  // The context is that of any value: a constant's type is all that matters.
  MLIRContext *context = names.begin()->first.getContext();
  auto type = RankedTensorType::get({count}, IntegerType::get(context, 64));
  return constant(DenseElementsAttr::get(type, values));
}

std::string OpWriter::scalar(Type element, double value) {
  auto type = RankedTensorType::get({}, element);
  Builder builder(element.getContext());
  if (element.isInteger(1))
    return constant(DenseElementsAttr::get(type, value != 0));
  Attribute number =
      isa<FloatType>(element)
          ? Attribute(builder.getFloatAttr(element, value))
          : builder.getIntegerAttr(element, static_cast<int64_t>(value));
  return constant(DenseElementsAttr::get(type, number));
}

std::string OpWriter::filled(RankedTensorType type, double value) {
  std::string number = scalar(type.getElementType(), value);
  return type.getRank() ? expanded(number, type.getShape()) : number;
}

std::string OpWriter::sliced(std::string value, Ints starts, Ints limits,
                             Ints steps) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, starts.size()));
  return node("Slice", {std::move(value), ints(starts), ints(limits),
                        ints(axes), ints(steps)});
}
