// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Replaces the nodes that decode matrices by those of plain ones.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/weights/CodedData.h"
#include "frontends/onnx/weights/CodedNodes.h"
#include "frontends/onnx/weights/CodedWeights.h"
#include "frontends/onnx/weights/InputRoles.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;
using onnx::TensorProto;

namespace {

/// Replaces nodes of a graph.
class Rewriter {
public:
  explicit Rewriter(onnx::GraphProto &graph) : graph(graph) {
    nodes.Swap(graph.mutable_node());
  }

  /// Adds a node with the name and the metadata of `like`.
  onnx::NodeProto &add(const onnx::NodeProto &like, StringRef op,
                       ArrayRef<std::string> inputs, StringRef output) {
    onnx::NodeProto &node = *graph.add_node();
    node.set_name(like.name());
    *node.mutable_metadata_props() = like.metadata_props();
    node.set_op_type(op.str());
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output.str());
    return node;
  }
  void addCast(const onnx::NodeProto &like, const std::string &from,
               StringRef to, int32_t type) {
    onnx::NodeProto &node = add(like, "Cast", {from}, to);
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(type);
  }
  /// Adds y = x W' + bias, computed in f32.
  void addMatmul(const onnx::NodeProto &like, const std::string &weight,
                 bool isTransposed, int32_t type, StringRef bias);

  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;

private:
  onnx::GraphProto &graph;
};

} // namespace

void Rewriter::addMatmul(const onnx::NodeProto &like, const std::string &weight,
                         bool isTransposed, int32_t type, StringRef bias) {
  const std::string &output = like.output(0);
  std::string x = like.input(0), matrix = weight, last = output;
  bool isCast = type != TensorProto::FLOAT;
  if (isCast) {
    addCast(like, x, output + "/x", TensorProto::FLOAT);
    x = output + "/x";
    last = output + "/f32";
  }
  if (isTransposed) {
    matrix = output + "/transposed";
    onnx::NodeProto &node = add(like, "Transpose", {weight}, matrix);
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("perm");
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.add_ints(1);
    attribute.add_ints(0);
  }
  std::string product = bias.empty() ? last : output + "/product";
  add(like, "MatMul", {x, matrix}, product);
  if (!bias.empty()) {
    std::string addend = bias.str();
    if (isCast) {
      addend = output + "/bias";
      addCast(like, bias.str(), addend, TensorProto::FLOAT);
    }
    add(like, "Add", {product, addend}, last);
  }
  if (isCast)
    addCast(like, last, output, type);
}

/// Removes initializers of these names that no node reads.
static void removeUnused(onnx::GraphProto &graph,
                         const llvm::StringSet<> &names) {
  llvm::StringSet<> used;
  walkNodes(graph, [&](const onnx::NodeProto &node) {
    used.insert(node.input().begin(), node.input().end());
  });
  for (const onnx::ValueInfoProto &output : graph.output())
    used.insert(output.name());
  auto isUnused = [&](StringRef name) {
    return names.contains(name) && !used.contains(name);
  };
  auto *inputs = graph.mutable_input();
  inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                               [&](const onnx::ValueInfoProto &input) {
                                 return isUnused(input.name());
                               }),
                inputs->end());
  auto *tensors = graph.mutable_initializer();
  tensors->erase(std::remove_if(tensors->begin(), tensors->end(),
                                [&](const TensorProto &tensor) {
                                  return isUnused(tensor.name());
                                }),
                 tensors->end());
}

LogicalResult onnx_import::takeCodedWeights(Location file,
                                            onnx::ModelProto &model,
                                            CodedWeights &coded) {
  if (coded.weights.empty())
    return success();
  onnx::GraphProto &graph = *model.mutable_graph();
  llvm::StringMap<TensorProto *> initializers;
  for (TensorProto &tensor : *graph.mutable_initializer())
    initializers[tensor.name()] = &tensor;
  llvm::StringSet<> taken;
  Rewriter rewriter(graph);
  for (const onnx::NodeProto &node : rewriter.nodes) {
    std::optional<CodesForm> form = getCodesForm(node);
    auto name = form ? coded.byParts.find(getPartNames(node, *form))
                     : coded.byParts.end();
    if (name == coded.byParts.end()) {
      *graph.add_node() = node;
      continue;
    }
    CodedWeight &weight = coded.weights[name->second];
    auto lookup = [&](int part) {
      int i = getCodesInput(*form) + part;
      return i < node.input_size() ? initializers.lookup(node.input(i))
                                   : nullptr;
    };
    TensorProto *codes = lookup(0), *scales = lookup(1),
                *zeros = *form == CodesForm::Floats ? nullptr : lookup(2);
    if (weight.codes.empty()) {
      if (failed(readCodes(file, weight, getCodesLayout(node, *form, *codes),
                           *codes, *scales, zeros)))
        return failure();
      for (TensorProto *part : {codes, scales, zeros})
        if (part)
          taken.insert(part->name());
    }
    // The nodes of the graph refer to it by its name.
    int32_t type = scales->data_type();
    if (*form == CodesForm::Blocks) {
      int64_t output = getInteger(node, "output_dtype", 0);
      rewriter.addCast(node, weight.name, node.output(0),
                       output ? static_cast<int32_t>(output) : type);
      continue;
    }
    bool isTransposed =
        *form == CodesForm::Integers || getInteger(node, "transB", 1) != 0;
    rewriter.addMatmul(node, weight.name, isTransposed, type,
                       *form == CodesForm::Integers && node.input_size() > 5
                           ? StringRef(node.input(5))
                           : StringRef());
  }
  removeUnused(graph, taken);
  for (auto &[name, weight] : coded.weights) {
    TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name.str());
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(weight.rows);
    tensor.add_dims(weight.columns);
    leaveOutData(tensor);
  }
  return success();
}
