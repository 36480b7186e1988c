// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/Copies.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/weights/Parameters.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Returns a float tensor, stored raw, with more than one element, all of them
/// equal.
static bool isRepeatedValue(MLIRContext *context,
                            const onnx::TensorProto &tensor) {
  Type element = elementType(context, tensor.data_type());
  if (!element || !isa<FloatType>(element) || !tensor.has_raw_data())
    return false;
  size_t width = element.getIntOrFloatBitWidth() / 8;
  StringRef bytes = rawBytes(tensor);
  return bytes.size() > width && bytes.size() % width == 0 &&
         bytes.drop_front(width) == bytes.drop_back(width);
}

void onnx_import::separateCopies(Location file, onnx::ModelProto &model) {
  // Before IR version 4, initializers had to be inputs too.
  if (model.ir_version() < 4)
    return;
  onnx::GraphProto &graph = *model.mutable_graph();
  llvm::StringMap<int> repeated;
  for (int i = 0; i < graph.initializer_size(); ++i)
    if (isRepeatedValue(file.getContext(), graph.initializer(i)))
      repeated[graph.initializer(i).name()] = i;
  llvm::StringSet<> outputs;
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs.insert(output.name());

  SmallVector<std::string> separated;
  auto isCopy = [&](const onnx::NodeProto &node) {
    return node.op_type() == "Identity" &&
           canonicalDomain(node.domain()).empty() && node.input_size() == 1 &&
           node.output_size() == 1 && repeated.contains(node.input(0)) &&
           !outputs.contains(node.output(0));
  };
  auto *nodes = graph.mutable_node();
  for (const onnx::NodeProto &node : *nodes) {
    if (!isCopy(node))
      continue;
    onnx::TensorProto copy = graph.initializer(repeated[node.input(0)]);
    copy.set_name(node.output(0));
    *graph.add_initializer() = std::move(copy);
    separated.push_back(node.output(0));
  }
  if (separated.empty())
    return;
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(), isCopy),
               nodes->end());
  // The exporter had merged these, because they started equal.
  remark::passed(file, remarkOptions("import-onnx", "SeparatedInitializers"))
      << remark::metric("names", llvm::join(separated, ", "));
}

void onnx_import::splitMerged(Location file, onnx::ModelProto &model) {
  onnx::GraphProto &graph = *model.mutable_graph();
  LostParameters lost = findLostParameters(graph, readMetadata(graph));
  llvm::StringMap<int> places;
  for (auto [i, tensor] : llvm::enumerate(graph.initializer()))
    places[tensor.name()] = static_cast<int>(i);
  SmallVector<std::string> split;
  for (const MergedUse &use : lost.merged) {
    auto standIn = places.find(use.standIn);
    if (standIn == places.end())
      continue;
    if (places.try_emplace(use.parameter, graph.initializer_size()).second) {
      onnx::TensorProto copy = graph.initializer(standIn->second);
      copy.set_name(use.parameter);
      *graph.add_initializer() = std::move(copy);
      split.push_back(use.parameter);
    }
    graph.mutable_node(use.node)->set_input(use.input, use.parameter);
  }
  if (split.empty())
    remark::missed(file, remarkOptions("import-onnx", "SplitParameters"))
        << remark::reason("the exporter's metadata names no parameter that was "
                          "merged with another");
  else
    remark::passed(file, remarkOptions("import-onnx", "SplitParameters"))
        << remark::metric("names", llvm::join(split, ", "));
}
