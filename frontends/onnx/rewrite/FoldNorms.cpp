// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/rewrite/FoldNorms.h"
#include "frontends/onnx/model/Node.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

using namespace ingot;
using namespace ingot::onnx_import;
using namespace llvm;
using onnx::NodeProto;
using onnx::TensorProto;

static bool isOp(const NodeProto &node, StringRef type) {
  return canonicalDomain(node.domain()).empty() && node.op_type() == type;
}

namespace {

/// Appends the nodes of one fold.
class Builder {
public:
  Builder(onnx::GraphProto &graph,
          google::protobuf::RepeatedPtrField<NodeProto> &nodes,
          std::string prefix)
      : graph(graph), nodes(nodes), prefix(std::move(prefix)) {}

  std::string append(StringRef type, ArrayRef<std::string> inputs,
                     StringRef name) {
    NodeProto &node = *nodes.Add();
    std::string output = prefix + name.str();
    node.set_op_type(type.str());
    node.set_name(output);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return output;
  }
  std::string addConstant(StringRef name, float value) {
    TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(prefix + name.str());
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.set_raw_data(
        std::string(reinterpret_cast<const char *>(&value), sizeof value));
    return tensor.name();
  }
  std::string addSizes(StringRef name, ArrayRef<int64_t> sizes) {
    TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(prefix + name.str());
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(sizes.size()));
    tensor.set_raw_data(
        std::string(reinterpret_cast<const char *>(sizes.data()),
                    sizes.size() * sizeof(int64_t)));
    return tensor.name();
  }

private:
  onnx::GraphProto &graph;
  google::protobuf::RepeatedPtrField<NodeProto> &nodes;
  std::string prefix;
};

} // namespace

static float getEpsilon(const NodeProto &norm) {
  for (const onnx::AttributeProto &attribute : norm.attribute())
    if (attribute.name() == "epsilon")
      return attribute.f();
  return 1e-5F;
}

FoldedNorms
onnx_import::foldNorms(onnx::GraphProto &graph,
                       function_ref<bool(const NodeProto &conv)> isChosen) {
  FoldedNorms result;
  StringMap<const TensorProto *> initializers;
  for (const TensorProto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  StringMap<int> readers, last;
  StringSet<> outputs;
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs.insert(output.name());
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &input : graph.node(i).input()) {
      ++readers[input];
      last[input] = i;
    }
  auto isFloat = [&](const std::string &name) {
    const TensorProto *tensor = initializers.lookup(name);
    return tensor && tensor->data_type() == TensorProto::FLOAT;
  };
  // By the numbers of the convolutions.
  DenseMap<int, const NodeProto *> norms;
  DenseSet<int> gone;
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeProto &conv = graph.node(i);
    if (!isOp(conv, "Conv") || readers.lookup(conv.output(0)) != 1 ||
        outputs.contains(conv.output(0)) || !isFloat(conv.input(1)))
      continue;
    const NodeProto &norm = graph.node(last[conv.output(0)]);
    if (!isOp(norm, "BatchNormalization") || norm.input_size() < 5 ||
        norm.input(0) != conv.output(0) || norm.output_size() != 1 ||
        !isFloat(norm.input(1)) || !isFloat(norm.input(2)) ||
        !isFloat(norm.input(3)) || !isFloat(norm.input(4)) || !isChosen(conv))
      continue;
    norms[i] = &norm;
    gone.insert(last[conv.output(0)]);
  }
  if (norms.empty())
    return result;
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (gone.contains(i))
      continue;
    const NodeProto *norm = norms.lookup(i);
    if (!norm) {
      *nodes.Add() = graph.node(i);
      continue;
    }
    NodeProto conv = graph.node(i);
    Builder b(graph, nodes, conv.input(1) + "/");
    const TensorProto &weight = *initializers.lookup(conv.input(1));
    SmallVector<int64_t> sizes(weight.dims_size(), 1);
    sizes[0] = weight.dims(0);
    std::string epsilon = b.addConstant("epsilon", getEpsilon(*norm));
    result.constants.push_back(epsilon);
    std::string variance =
        b.append("Add", {norm->input(4), epsilon}, "variance");
    std::string deviation = b.append("Sqrt", {variance}, "deviation");
    std::string factor = b.append("Div", {norm->input(1), deviation}, "factor");
    std::string spread =
        b.append("Reshape", {factor, b.addSizes("sizes", sizes)}, "factors");
    std::string folded = b.append("Mul", {conv.input(1), spread}, "folded");
    std::string mean = norm->input(3);
    if (conv.input_size() > 2 && !conv.input(2).empty())
      mean = b.append("Sub", {mean, conv.input(2)}, "mean");
    std::string moved = b.append("Mul", {mean, factor}, "moved");
    std::string bias = b.append("Sub", {norm->input(2), moved}, "bias");
    result.weights[folded] = conv.input(1);
    result.statistics.push_back(norm->input(3));
    result.statistics.push_back(norm->input(4));
    while (conv.input_size() < 3)
      conv.add_input("");
    conv.set_input(1, folded);
    conv.set_input(2, bias);
    conv.set_output(0, norm->output(0));
    *nodes.Add() = std::move(conv);
  }
  graph.mutable_node()->Swap(&nodes);
  return result;
}
