// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/NodeOrder.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Node.h"
#include "llvm/ADT/StringExtras.h"
#include <queue>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Calls `visit` with the graphs that are attributes of the node.
template <typename Node, typename Fn>
static void forEachGraph(Node &node, Fn visit) {
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      visit(*attribute.mutable_g());
    for (auto &graph : *attribute.mutable_graphs())
      visit(graph);
  }
}

/// Adds the names that the graph takes from around it.
static void addFreeNames(onnx::GraphProto &graph, llvm::StringSet<> &free) {
  llvm::StringSet<> read, defined;
  for (const onnx::ValueInfoProto &input : graph.input())
    defined.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    defined.insert(tensor.name());
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (const std::string &name : node.input())
      read.insert(name);
    for (const std::string &name : node.output())
      defined.insert(name);
    forEachGraph(node,
                 [&](onnx::GraphProto &body) { addFreeNames(body, read); });
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    read.insert(output.name());
  for (StringRef name : read.keys())
    if (!defined.contains(name))
      free.insert(name);
}

void onnx_import::addReadNames(onnx::NodeProto &node,
                               llvm::StringSet<> &names) {
  for (const std::string &name : node.input())
    if (!name.empty())
      names.insert(name);
  forEachGraph(node,
               [&](onnx::GraphProto &body) { addFreeNames(body, names); });
}

namespace {
/// Which nodes of one graph take the results of which others.
class Dependences {
public:
  explicit Dependences(Nodes &nodes)
      : nodes(nodes), takers(nodes.size()), given(nodes.size()) {
    llvm::StringMap<int> producers;
    for (int i = 0; i < nodes.size(); ++i)
      for (const std::string &name : nodes.Get(i).output())
        if (!name.empty())
          producers.try_emplace(name, i);
    for (int i = 0; i < nodes.size(); ++i) {
      llvm::StringSet<> read;
      addReadNames(*nodes.Mutable(i), read);
      for (StringRef name : read.keys())
        if (auto producer = producers.find(name); producer != producers.end()) {
          takers[producer->second].push_back(i);
          given[i].push_back(producer->second);
          inOrder &= producer->second < i;
        }
    }
  }

  bool areInOrder() const { return inOrder; }

  /// Returns the nodes in an order in which each follows those that it depends
  /// on: of several that could come next, the first. Nodes of cycles, and those
  /// that depend on them, are missing.
  std::vector<int> sort() const {
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    std::vector<size_t> missing;
    for (auto [i, producers] : llvm::enumerate(given)) {
      missing.push_back(producers.size());
      if (producers.empty())
        ready.push(static_cast<int>(i));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      int node = ready.top();
      ready.pop();
      order.push_back(node);
      for (int taker : takers[node])
        if (--missing[taker] == 0)
          ready.push(taker);
    }
    return order;
  }

  /// Returns the names of nodes that depend on each other, of which some are
  /// missing in the order.
  std::string cycleText(const std::vector<int> &order) const {
    std::vector<bool> isSorted(nodes.size());
    for (int node : order)
      isSorted[node] = true;
    int node = 0;
    while (isSorted[node])
      ++node;
    // Each of the others depends on another one: from one to the next, the walk
    // ends where it was before.
    std::vector<int> walk;
    std::vector<bool> wasHere(nodes.size());
    while (!wasHere[node]) {
      wasHere[node] = true;
      walk.push_back(node);
      node = *llvm::find_if(given[node], [&](int i) { return !isSorted[i]; });
    }
    constexpr size_t kNamed = 8;
    std::vector<int> cycle(llvm::find(walk, node), walk.end());
    std::vector<std::string> names;
    for (int each : ArrayRef(cycle).take_front(kNamed))
      names.push_back(nodeName(nodes.Get(each)));
    std::string text = llvm::join(names, ", ");
    if (cycle.size() > kNamed)
      text += " and " + std::to_string(cycle.size() - kNamed) + " more";
    return text;
  }

private:
  const Nodes &nodes;
  std::vector<SmallVector<int, 2>> takers, given;
  bool inOrder = true;
};
} // namespace

static LogicalResult sortGraph(Location file, Nodes &nodes) {
  for (onnx::NodeProto &node : nodes) {
    bool sorted = true;
    forEachGraph(node, [&](onnx::GraphProto &body) {
      sorted = sorted && succeeded(sortGraph(file, *body.mutable_node()));
    });
    if (!sorted)
      return failure();
  }
  Dependences dependences(nodes);
  if (dependences.areInOrder())
    return success();
  std::vector<int> order = dependences.sort();
  if (order.size() < static_cast<size_t>(nodes.size()))
    return emitUserError(file,
                         "nodes take each other's results, so that none can "
                         "come first: " +
                             dependences.cycleText(order),
                         "the model is damaged; export it again");
  std::vector<onnx::NodeProto *> all(nodes.size());
  nodes.ExtractSubrange(0, nodes.size(), all.data());
  for (int i : order)
    nodes.AddAllocated(all[i]);
  return success();
}

LogicalResult onnx_import::sortNodes(Location file, onnx::ModelProto &model) {
  for (onnx::FunctionProto &function : *model.mutable_functions())
    if (failed(sortGraph(file, *function.mutable_node())))
      return failure();
  return sortGraph(file, *model.mutable_graph()->mutable_node());
}

namespace {
/// Checks the names of a graph and, within their scope, of those inside it.
class NameChecker {
public:
  explicit NameChecker(MLIRContext *context) : context(context) {}

  LogicalResult check(const onnx::GraphProto &graph) {
    std::vector<StringRef> own;
    auto define = [&](const std::string &name) {
      if (names.insert(name).second)
        own.push_back(name);
    };
    for (const onnx::ValueInfoProto &input : graph.input())
      define(input.name());
    for (const onnx::TensorProto &tensor : graph.initializer())
      define(tensor.name());
    for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
      define(tensor.values().name());
    for (const onnx::NodeProto &node : graph.node()) {
      if (failed(check(node)))
        return failure();
      for (const std::string &name : node.output())
        define(name);
    }
    for (StringRef name : own)
      names.erase(name);
    return success();
  }

private:
  LogicalResult check(const onnx::NodeProto &node) {
    for (const std::string &name : node.input())
      if (!name.empty() && !names.contains(name))
        return emitUserError(nodeLocation(context, node),
                             "'" + name +
                                 "' is taken, and is neither an input, nor an "
                                 "initializer, nor what a node computes",
                             "the model is damaged; export it again");
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g() && failed(check(attribute.g())))
        return failure();
    return success();
  }

  MLIRContext *context;
  llvm::StringSet<> names;
};
} // namespace

LogicalResult onnx_import::checkNames(MLIRContext *context,
                                      const onnx::GraphProto &graph) {
  return NameChecker(context).check(graph);
}
