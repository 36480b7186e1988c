// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/Repair.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/NodeOrder.h"
#include "onnx/defs/schema.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Calls `visit` with the graph and all graphs within it.
template <typename Fn>
static void forEachGraph(onnx::GraphProto &graph, Fn visit) {
  visit(graph);
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        forEachGraph(*attribute.mutable_g(), visit);
      for (onnx::GraphProto &inner : *attribute.mutable_graphs())
        forEachGraph(inner, visit);
    }
}

/// Calls `visit` with each message of a repeated field, and erases those for
/// which it returns true.
template <typename Field, typename Fn>
static void eraseIf(Field *field, Fn visit) {
  field->erase(llvm::remove_if(*field, visit), field->end());
}

/// The typed field of a tensor that also has raw data is ignored, as by
/// runtimes.
static void keepRawData(onnx::TensorProto &tensor) {
  if (!tensor.has_raw_data() || tensor.data_type() == onnx::TensorProto::STRING)
    return;
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
}

/// Removes initializers that others of the same name replace: the last counts,
/// as in ONNX Runtime.
static void mergeInitializers(Location file, onnx::GraphProto &graph) {
  llvm::StringMap<const onnx::TensorProto *> last;
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    keepRawData(tensor);
    auto [known, isFirst] = last.try_emplace(tensor.name(), &tensor);
    if (isFirst || tensor.name().empty())
      continue;
    if (known->second->SerializeAsString() != tensor.SerializeAsString())
      emitUserWarning(file,
                      "initializer '" + Twine(tensor.name()) +
                          "' is there more than once, with different values",
                      "the last one counts, as in ONNX Runtime");
    known->second = &tensor;
  }
  if (last.size() == static_cast<size_t>(graph.initializer_size()) &&
      !last.contains(""))
    return;
  eraseIf(graph.mutable_initializer(), [&](const onnx::TensorProto &tensor) {
    return tensor.name().empty() || last.lookup(tensor.name()) != &tensor;
  });
}

/// Gives the default domain one name, and adds the domains of nodes.
template <typename Nodes>
static void canonicalizeDomains(Nodes &nodes, llvm::StringSet<> &used) {
  for (onnx::NodeProto &node : nodes) {
    if (node.domain() != canonicalDomain(node.domain()))
      node.clear_domain();
    used.insert(node.domain());
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        keepRawData(*attribute.mutable_t());
      if (attribute.has_g())
        canonicalizeDomains(*attribute.mutable_g()->mutable_node(), used);
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        canonicalizeDomains(*graph.mutable_node(), used);
    }
  }
}

template <typename Imports> static void canonicalizeImports(Imports &imports) {
  for (onnx::OperatorSetIdProto &import : imports)
    if (import.domain() != canonicalDomain(import.domain()))
      import.clear_domain();
}

/// States the version of each domain that nodes are of: of domains that the
/// model does not list, the newest, as ONNX Runtime does.
static void listDomains(onnx::ModelProto &model) {
  llvm::StringSet<> used;
  canonicalizeDomains(*model.mutable_graph()->mutable_node(), used);
  canonicalizeImports(*model.mutable_opset_import());
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    llvm::StringSet<> inner;
    canonicalizeDomains(*function.mutable_node(), inner);
    canonicalizeImports(*function.mutable_opset_import());
  }
  // A model that lists none may be of any version.
  if (model.opset_import_size() == 0)
    return;
  for (const onnx::OperatorSetIdProto &import : model.opset_import())
    used.erase(import.domain());
  const auto &known =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (StringRef domain : used.keys()) {
    auto range = known.find(domain.str());
    onnx::OperatorSetIdProto *import = model.add_opset_import();
    import->set_domain(domain.str());
    import->set_version(range == known.end() ? 1 : range->second.second);
  }
}

LogicalResult onnx_import::repairModel(Location file, onnx::ModelProto &model) {
  eraseIf(model.mutable_training_info(),
          [](const onnx::TrainingInfoProto &info) {
            return !info.has_algorithm() && !info.has_initialization() &&
                   info.update_binding_size() == 0;
          });
  listDomains(model);
  forEachGraph(*model.mutable_graph(), [&](onnx::GraphProto &graph) {
    mergeInitializers(file, graph);
  });
  llvm::StringSet<> outputs;
  eraseIf(model.mutable_graph()->mutable_output(),
          [&](const onnx::ValueInfoProto &output) {
            return !outputs.insert(output.name()).second;
          });
  return sortNodes(file, model);
}

void onnx_import::satisfyChecker(onnx::ModelProto &model) {
  // Older versions list all initializers as inputs and no operator sets.
  constexpr int64_t kLeastVersion = 4;
  if (model.has_ir_version() && model.ir_version() < kLeastVersion)
    model.set_ir_version(kLeastVersion);
  llvm::StringSet<> keys;
  eraseIf(model.mutable_metadata_props(),
          [&](const onnx::StringStringEntryProto &entry) {
            return !keys.insert(entry.key()).second;
          });
  auto complete = [](onnx::GraphProto &graph) {
    if (graph.name().empty())
      graph.set_name("graph");
    // Shapes of computed values may be stale or incomplete, and follow from the
    // inputs. Metadata is kept.
    eraseIf(graph.mutable_value_info(), [](const onnx::ValueInfoProto &info) {
      return info.metadata_props_size() == 0;
    });
    for (onnx::ValueInfoProto &info : *graph.mutable_value_info())
      if (!info.has_type())
        info.mutable_type()->mutable_tensor_type()->set_elem_type(
            onnx::TensorProto::UNDEFINED);
    for (onnx::ValueInfoProto &output : *graph.mutable_output()) {
      if (!output.has_type())
        output.mutable_type()->mutable_tensor_type()->set_elem_type(
            onnx::TensorProto::UNDEFINED);
      if (output.type().has_tensor_type() &&
          !output.type().tensor_type().has_shape())
        output.mutable_type()->mutable_tensor_type()->mutable_shape();
    }
  };
  forEachGraph(*model.mutable_graph(), complete);
}
