// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/ops/runtime/Compose.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

FailureOr<SmallVector<Binding>>
onnx_import::importAs(Node &node, const onnx::NodeProto &proto,
                      ArrayRef<Value> inputs) {
  SmallVector<Binding> bindings;
  for (Value input : inputs)
    bindings.push_back({input, std::nullopt});
  SmallVector<const Binding *> pointers;
  for (const Binding &binding : bindings)
    pointers.push_back(binding.value ? &binding : nullptr);
  Importer importer = Registry::get().lookup(proto.domain(), proto.op_type());
  if (!importer)
    return node.unsupported("operator " + Twine(proto.op_type()));
  Node forward(proto, node.graph.defaultOpset(), node.loc, node.b, node.graph,
               pointers);
  if (failed(importer(forward)))
    return failure();
  return llvm::to_vector(forward.getResults());
}

Standard::Standard(StringRef opType, int outputs) {
  proto.set_op_type(opType.str());
  for (int i = 0; i < outputs; ++i)
    proto.add_output("y" + std::to_string(i));
}

Standard &Standard::set(StringRef name, int64_t value) {
  onnx::AttributeProto &attribute = *proto.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
  return *this;
}

Standard &Standard::set(StringRef name, double value) {
  onnx::AttributeProto &attribute = *proto.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
  return *this;
}

static FailureOr<SmallVector<Value>>
valuesOf(Node &node, const onnx::NodeProto &proto, ArrayRef<Value> inputs) {
  FailureOr<SmallVector<Binding>> results = importAs(node, proto, inputs);
  if (failed(results))
    return failure();
  return llvm::map_to_vector(*results,
                             [](const Binding &each) { return each.value; });
}

FailureOr<SmallVector<Value>> Standard::import(Node &node,
                                               ArrayRef<Value> inputs) const {
  return valuesOf(node, proto, inputs);
}

FailureOr<Value> onnx_import::importLike(Node &node, StringRef opType,
                                         ArrayRef<Value> inputs) {
  onnx::NodeProto proto = node.getProto();
  proto.set_op_type(opType.str());
  proto.clear_domain();
  FailureOr<SmallVector<Value>> results = valuesOf(node, proto, inputs);
  if (failed(results))
    return failure();
  return results->front();
}

FailureOr<Value> onnx_import::addInput(Node &node, Value x, size_t input) {
  if (!node.has(input))
    return x;
  Value other = node.in(input), sum = x;
  if (failed(node.broadcastBoth(sum, other)))
    return failure();
  if (sum.getType() != x.getType())
    return node.malformed(
        "input " + Twine(input) + " of shape " + shapeText(node.shape(input)) +
        " does not broadcast to " + shapeText(tensorType(x).getShape()));
  return node.binary<AddOp>(sum, other);
}

FailureOr<Value> onnx_import::activate(Node &node, Value x,
                                       ArrayRef<double> params) {
  std::string name = node.stringAttr("activation", "");
  if (name.empty())
    return x;
  // The defaults are those of bounds of Clip, of which either may be missing.
  if (name == "Clip") {
    if (!params.empty())
      x = node.binary<MaxOp>(x, params[0]);
    if (params.size() > 1)
      x = node.binary<MinOp>(x, params[1]);
    return x;
  }
  if (!llvm::is_contained({"Elu", "Gelu", "HardSigmoid", "HardSwish",
                           "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus",
                           "Softsign", "Tanh", "ThresholdedRelu"},
                          name))
    return node.unsupported("activation " + name);
  Standard activation(name);
  StringRef second = name == "Selu" ? "gamma" : "beta";
  for (auto [i, value] : llvm::enumerate(params.take_front(2)))
    activation.set(i == 0 ? "alpha" : second, value);
  FailureOr<SmallVector<Value>> results = activation.import(node, {x});
  if (failed(results))
    return failure();
  return results->front();
}
