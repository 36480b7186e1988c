// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/UnsupportedOutputs.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/NodeOrder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Whether the node's value is text, of which there are no tensors here.
static bool isText(const onnx::NodeProto &node) {
  return node.op_type() == "Constant" && node.domain().empty() &&
         llvm::any_of(node.attribute(), [](const onnx::AttributeProto &value) {
           return value.name() == "value_string" ||
                  value.name() == "value_strings" ||
                  (value.has_t() &&
                   value.t().data_type() == onnx::TensorProto::STRING);
         });
}

namespace {
/// The part of a graph that cannot be imported.
class UnsupportedPart {
public:
  UnsupportedPart(onnx::GraphProto &graph,
                  llvm::function_ref<bool(const onnx::NodeProto &)> isSupported)
      : graph(graph) {
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      llvm::StringSet<> read;
      addReadNames(node, read);
      bool isCause = isText(node) || !isSupported(node);
      bool isPart = isCause || llvm::any_of(read.keys(), [&](StringRef name) {
                      return names.contains(name);
                    });
      nodes.push_back(isPart);
      if (!isPart) {
        for (StringRef name : read.keys())
          readElsewhere.insert(name);
        continue;
      }
      if (isCause && !llvm::is_contained(causes, node.op_type()))
        causes.push_back(node.op_type());
      for (StringRef name : read.keys())
        readHere.insert(name);
      for (const std::string &name : node.output())
        if (!name.empty())
          names.insert(name);
    }
  }

  bool isEmpty() const { return causes.empty(); }
  bool computes(const onnx::ValueInfoProto &output) const {
    return names.contains(output.name());
  }
  /// Whether only this part reads an input.
  bool takesAlone(const onnx::ValueInfoProto &input) const {
    return readHere.contains(input.name()) &&
           !readElsewhere.contains(input.name());
  }
  std::string getCauses() const { return llvm::join(causes, ", "); }

  void erase() {
    auto *inputs = graph.mutable_input();
    inputs->erase(llvm::remove_if(*inputs,
                                  [&](const onnx::ValueInfoProto &input) {
                                    return takesAlone(input);
                                  }),
                  inputs->end());
    auto *outputs = graph.mutable_output();
    outputs->erase(llvm::remove_if(*outputs,
                                   [&](const onnx::ValueInfoProto &output) {
                                     return computes(output);
                                   }),
                   outputs->end());
    int kept = 0;
    for (auto [at, isPart] : llvm::enumerate(nodes))
      if (!isPart)
        graph.mutable_node()->SwapElements(static_cast<int>(at), kept++);
    graph.mutable_node()->DeleteSubrange(kept, graph.node_size() - kept);
  }

private:
  onnx::GraphProto &graph;
  /// For each node whether it belongs to the part.
  std::vector<bool> nodes;
  /// The names that its nodes compute, that they read, and that others read.
  llvm::StringSet<> names, readHere, readElsewhere;
  /// The operators that it begins with.
  std::vector<std::string> causes;
};
} // namespace

void onnx_import::leaveOutUnsupported(
    Location file, onnx::ModelProto &model,
    llvm::function_ref<bool(const onnx::NodeProto &)> isSupported) {
  onnx::GraphProto &graph = *model.mutable_graph();
  UnsupportedPart part(graph, isSupported);
  std::vector<std::string> lost;
  for (const onnx::ValueInfoProto &output : graph.output())
    if (part.computes(output))
      lost.push_back("'" + output.name() + "'");
  if (part.isEmpty() || lost.size() == static_cast<size_t>(graph.output_size()))
    return;
  // What no output needs is not missed.
  if (!lost.empty())
    file.getContext()->getDiagEngine().emit(file, DiagnosticSeverity::Note)
        << printableLine("left out: " + llvm::join(lost, ", ") +
                         ", which operators that are not imported compute: " +
                         part.getCauses() +
                         "; exported models have them, and predictions do not");
  part.erase();
}
