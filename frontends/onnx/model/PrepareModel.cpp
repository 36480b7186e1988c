// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/PrepareModel.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/NodeOrder.h"
#include "frontends/onnx/model/Opsets.h"
#include "frontends/onnx/model/Repair.h"
#include "frontends/onnx/model/RuntimeOperators.h"
#include "frontends/onnx/model/UnsupportedOutputs.h"
#include "onnx/checker.h"
#include "onnx/defs/schema.h"
#include "onnx/inliner/inliner.h"
#include "onnx/shape_inference/implementation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

//===----------------------------------------------------------------------===//
// Size
//===----------------------------------------------------------------------===//

/// Graphs of more nodes are refused. Those of large models have some ten
/// thousand, while a few kilobytes of nested functions can mean any number.
static constexpr uint64_t kMaxNodes = 100000;
/// Functions that call each other in longer chains are refused too: whoever
/// walks them recurses.
static constexpr unsigned kMaxCallDepth = 200;

namespace {
/// Counts the nodes that a graph has once its functions are inlined.
class NodeCounter {
public:
  explicit NodeCounter(const onnx::ModelProto &model) {
    for (const onnx::FunctionProto &function : model.functions())
      functions[key(function.domain(), function.name())] = &function;
  }

  /// Returns more than kMaxNodes if there are too many. Functions that call
  /// themselves count once: the checker refuses them.
  template <typename Nodes> uint64_t count(const Nodes &nodes) {
    uint64_t total = 0;
    for (const onnx::NodeProto &node : nodes) {
      total += countNode(node);
      if (total > kMaxNodes)
        return kMaxNodes + 1;
    }
    return total;
  }
  bool foundDeepCalls() const { return isTooDeep; }

private:
  static std::string key(StringRef domain, StringRef name) {
    return (canonicalDomain(domain) + "\n" + name).str();
  }

  uint64_t countNode(const onnx::NodeProto &node) {
    uint64_t total = 1;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      total += count(attribute.g().node());
      for (const onnx::GraphProto &graph : attribute.graphs())
        total += count(graph.node());
    }
    std::string name = key(node.domain(), node.op_type());
    auto function = functions.find(name);
    if (function == functions.end())
      return total;
    auto [known, isFirst] = counts.try_emplace(name, 1);
    if (!isFirst)
      return total + known->second;
    if (++depth > kMaxCallDepth)
      isTooDeep = true;
    uint64_t body = isTooDeep ? 0 : count(function->second->node());
    --depth;
    counts[name] = body;
    return total + body;
  }

  llvm::StringMap<const onnx::FunctionProto *> functions;
  llvm::StringMap<uint64_t> counts;
  unsigned depth = 0;
  bool isTooDeep = false;
};
} // namespace

static LogicalResult checkSize(Location file, const onnx::ModelProto &model) {
  NodeCounter counter(model);
  bool fits = counter.count(model.graph().node()) <= kMaxNodes;
  if (counter.foundDeepCalls())
    return emitUserError(file,
                         "has functions that call each other more than " +
                             Twine(kMaxCallDepth) + " deep",
                         "export the model with fewer nested functions");
  if (fits)
    return success();
  return emitUserError(file,
                       "has more than " + Twine(kMaxNodes) +
                           " nodes with its functions inlined",
                       "export the model without unrolled loops, and check "
                       "which functions call each other");
}

//===----------------------------------------------------------------------===//
// Checking and inlining
//===----------------------------------------------------------------------===//

static LogicalResult checkVersions(Location file,
                                   const onnx::ModelProto &model) {
  int newest = newestOpset();
  int opset = opsetVersion(model, "");
  bool standard =
      llvm::any_of(model.graph().node(), [](const onnx::NodeProto &node) {
        return canonicalDomain(node.domain()).empty();
      });
  if (opset == 0 && !standard)
    return success();
  if (opset == 0)
    return emitUserError(file, "does not say which operator set it uses",
                         "export the model again");
  if (opset > newest)
    return emitUserError(file,
                         "uses operator set " + Twine(opset) +
                             "; the newest known one is " + Twine(newest),
                         "export the model with opset_version=" +
                             Twine(newest));
  if (opset < kOldestOpset)
    return emitUserError(
        file,
        "uses operator set " + Twine(opset) + "; the oldest supported one is " +
            Twine(kOldestOpset),
        "convert the model with onnx.version_converter.convert_version");
  return success();
}

/// Returns the schema's function body for a node that has no importer.
static bool hasFunction(const onnx::ModelProto &model,
                        const onnx::NodeProto &node) {
  const onnx::OpSchema *schema = onnx::OpSchemaRegistry::Schema(
      node.op_type(), opsetVersion(model, node.domain()),
      canonicalDomain(node.domain()).str());
  return schema &&
         (schema->HasFunction() || schema->HasContextDependentFunction());
}

/// Operators in the order of their first node, with the names of their nodes.
using MissingOperators = llvm::MapVector<std::string, SmallVector<std::string>,
                                         std::map<std::string, unsigned>>;

bool onnx_import::hasBody(const onnx::NodeProto &node) {
  return canonicalDomain(node.domain()).empty() &&
         llvm::is_contained({"If", "Loop", "Scan", "SequenceMap"},
                            node.op_type());
}

/// Adds the operators of nodes, and of graphs within them, that have no
/// importer. Before inlining, those that a function defines are accepted.
template <typename Nodes>
static void findMissing(const onnx::ModelProto &model, const Nodes &nodes,
                        bool inlined, MissingOperators &missing) {
  for (const onnx::NodeProto &node : nodes) {
    if (hasBody(node)) {
      for (const onnx::AttributeProto &attribute : node.attribute())
        findMissing(model, attribute.g().node(), inlined, missing);
      continue;
    }
    if (Registry::get().lookup(node.domain(), node.op_type()) ||
        (!inlined && hasFunction(model, node)))
      continue;
    std::string name = node.op_type();
    if (!canonicalDomain(node.domain()).empty())
      name = node.domain() + "::" + name;
    missing[name].push_back(nodeName(node));
  }
}

static MissingOperators findMissing(const onnx::ModelProto &model,
                                    bool inlined) {
  MissingOperators missing;
  findMissing(model, model.graph().node(), inlined, missing);
  return missing;
}

static LogicalResult reportMissing(Location file,
                                   const MissingOperators &missing) {
  constexpr size_t kNamed = 8;
  std::string text;
  for (auto &[name, nodes] : missing) {
    text += (text.empty() ? "" : "; ") + name + " (";
    size_t named = std::min(nodes.size(), kNamed);
    text += llvm::join(ArrayRef(nodes).take_front(named), ", ");
    if (nodes.size() > named)
      text += " and " + std::to_string(nodes.size() - named) + " more";
    text += ")";
  }
  return emitUserError(file,
                       (missing.size() == 1 ? "unsupported operator: "
                                            : "unsupported operators: ") +
                           text,
                       "see docs/onnx.md for the operators that are imported");
}

/// Sets the default values of a node's attributes: a function's body refers to
/// them, and the inliner does not know defaults.
static void addDefaults(const onnx::ModelProto &model, onnx::NodeProto &node) {
  const onnx::OpSchema *schema = onnx::OpSchemaRegistry::Schema(
      node.op_type(), opsetVersion(model, node.domain()),
      canonicalDomain(node.domain()).str());
  for (const auto &[name, attribute] : schema->attributes()) {
    bool given = llvm::any_of(node.attribute(),
                              [&](const onnx::AttributeProto &present) {
                                return present.name() == name;
                              });
    if (!given && attribute.default_value.has_name())
      *node.add_attribute() = attribute.default_value;
  }
}

/// Prepares the nodes of operators that only the schema's function defines, in
/// the graph and in those within it, and adds the operators to `wanted`.
static void findFunctions(const onnx::ModelProto &model,
                          onnx::GraphProto &graph,
                          onnx::inliner::FunctionIdVector &wanted) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    if (hasBody(node)) {
      for (onnx::AttributeProto &attribute : *node.mutable_attribute())
        if (attribute.has_g())
          findFunctions(model, *attribute.mutable_g(), wanted);
      continue;
    }
    if (Registry::get().lookup(node.domain(), node.op_type()) ||
        !hasFunction(model, node))
      continue;
    addDefaults(model, node);
    wanted.emplace_back(node.domain(), node.op_type());
  }
}

/// Inlines the nodes of operators that only the schema's function defines, in
/// several rounds for nested functions. Fails with an error that names the
/// remaining operators.
static LogicalResult inlineSchemaFunctions(Location file,
                                           onnx::ModelProto &model) {
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    MissingOperators missing = findMissing(model, /*inlined=*/true);
    onnx::inliner::FunctionIdVector wanted;
    findFunctions(model, *model.mutable_graph(), wanted);
    if (wanted.empty())
      return missing.empty() ? success() : reportMissing(file, missing);
    // Some functions depend on types, which the inliner looks up by name.
    for (const onnx::TensorProto &tensor : model.graph().initializer()) {
      onnx::ValueInfoProto *info = model.mutable_graph()->add_value_info();
      info->set_name(tensor.name());
      auto *type = info->mutable_type()->mutable_tensor_type();
      type->set_elem_type(tensor.data_type());
      for (int64_t size : tensor.dims())
        type->mutable_shape()->add_dim()->set_dim_value(size);
    }
    try {
      onnx::shape_inference::InferShapes(model);
      auto set = onnx::inliner::FunctionIdSet::Create(std::move(wanted));
      onnx::inliner::InlineSelectedFunctions(model, *set, nullptr);
      if (failed(checkSize(file, model)))
        return failure();
    } catch (const std::exception &) {
      // The library cannot inline some uses (omitted inputs in the middle).
      return reportMissing(file, missing);
    }
  }
  return reportMissing(file, findMissing(model, /*inlined=*/true));
}

/// Reports what the ONNX library says of the model.
static LogicalResult reportInvalid(Location file, StringRef text) {
  std::string line = text.rtrim().str();
  for (size_t at; (at = line.find("\n")) != std::string::npos;)
    line.replace(at, 1, " ");
  return emitUserError(file, "is not a valid ONNX model: " + line,
                       "export the model again");
}

LogicalResult onnx_import::inlineFunctions(Location file,
                                           onnx::ModelProto &model) {
  if (!model.functions_size())
    return success();
  if (failed(checkSize(file, model)) || failed(checkVersions(file, model)))
    return failure();
  try {
    onnx::checker::check_function_call_cycles(model);
    onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/true);
  } catch (const std::exception &error) {
    return reportInvalid(file, error.what());
  }
  return success();
}

/// Whether the operators of a node, and of graphs within it, have importers, or
/// functions that define them.
static bool isSupported(const onnx::ModelProto &model,
                        const onnx::NodeProto &node) {
  MissingOperators missing;
  findMissing(model, ArrayRef(node), /*inlined=*/false, missing);
  return missing.empty();
}

LogicalResult onnx_import::prepareModel(Location file, onnx::ModelProto &model,
                                        UnsupportedResults results) {
  if (failed(checkSize(file, model)) || failed(checkVersions(file, model)))
    return failure();
  registerRuntimeOperators();
  satisfyChecker(model);
  if (failed(inlineFunctions(file, model)))
    return failure();
  if (results == UnsupportedResults::LeftOut)
    leaveOutUnsupported(file, model, [&](const onnx::NodeProto &node) {
      return isSupported(model, node);
    });
  try {
    MissingOperators missing = findMissing(model, /*inlined=*/false);
    if (!missing.empty())
      return reportMissing(file, missing);
    if (failed(checkNames(file.getContext(), model.graph())))
      return failure();
    {
      EmptyMappedTensors empty(*model.mutable_graph());
      onnx::checker::check_model(model);
    }
    return inlineSchemaFunctions(file, model);
  } catch (const std::exception &error) {
    return reportInvalid(file, error.what());
  }
  return success();
}
