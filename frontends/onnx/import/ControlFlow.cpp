// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Operators that have graphs as attributes. They exist only while the graph is
// imported: a branch whose condition is known is imported in its place, of a
// condition that depends on data both branches are, and the result is selected.
// Loops are unrolled.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/import/ControlNode.h"
#include "frontends/onnx/import/Graph.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// The cost of a node in an iteration that a condition of data may leave out:
/// all values that such an iteration hands on are selected.
static constexpr int64_t kConditionalCost = 4;

static LogicalResult unknown(const onnx::NodeProto &node, Location loc,
                             const Twine &what) {
  return emitUserError(
      loc,
      Twine(node.op_type()) + ": " + what + " is not known at compile time",
      "bind the input with --value NAME=V, or export the model with a fixed "
      "one: the step is compiled for fixed shapes");
}

/// Returns the only element of a constant integer or boolean.
static std::optional<int64_t> knownScalar(Value value) {
  DenseElementsAttr attr;
  if (!value || !matchPattern(value, m_Constant(&attr)) ||
      attr.getNumElements() != 1 || !attr.getElementType().isInteger())
    return std::nullopt;
  APInt element = *attr.getValues<APInt>().begin();
  return element.getBitWidth() == 1
             ? static_cast<int64_t>(element.getZExtValue())
             : element.getSExtValue();
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Binding>>
GraphImporter::bindingsOf(const onnx::NodeProto &node, int first,
                          Location loc) {
  SmallVector<Binding> values;
  for (int i = first; i < node.input_size(); ++i) {
    Binding none;
    none.isAbsent = true;
    const Binding *binding = &none;
    if (!node.input(i).empty())
      binding = lookup(node.input(i), loc);
    if (!binding)
      return failure();
    values.push_back(*binding);
  }
  return values;
}

FailureOr<SmallVector<Binding>>
GraphImporter::importBody(const onnx::GraphProto &bodyGraph,
                          ArrayRef<Binding> inputs, Location loc) {
  // Names that the body defines may be those of an earlier iteration, or hide
  // names around it.
  SmallVector<std::pair<std::string, std::unique_ptr<Binding>>> hidden;
  SmallVector<std::pair<std::string, const onnx::TensorProto *>> tensors;
  auto hide = [&](const std::string &name) {
    if (!name.empty())
      hidden.emplace_back(name, std::move(bindings[name]));
    bindings.erase(name);
  };
  for (const onnx::TensorProto &tensor : bodyGraph.initializer()) {
    hide(tensor.name());
    tensors.emplace_back(tensor.name(), initializers.lookup(tensor.name()));
    initializers[tensor.name()] = &tensor;
  }
  for (const onnx::ValueInfoProto &input : bodyGraph.input())
    hide(input.name());
  for (const onnx::NodeProto &node : bodyGraph.node())
    for (const std::string &name : node.output())
      hide(name);
  auto restore = llvm::make_scope_exit([&] {
    for (auto &[name, binding] : llvm::reverse(hidden)) {
      bindings.erase(name);
      if (binding)
        bindings[name] = std::move(binding);
    }
    for (auto &[name, tensor] : llvm::reverse(tensors)) {
      initializers.erase(name);
      if (tensor)
        initializers[name] = tensor;
    }
  });

  int next = 0;
  for (const onnx::ValueInfoProto &input : bodyGraph.input())
    if (next < static_cast<int>(inputs.size()))
      bind(input.name(), inputs[next++]);
  for (const onnx::NodeProto &node : bodyGraph.node())
    if (failed(importNode(node)))
      return failure();
  SmallVector<Binding> results;
  for (const onnx::ValueInfoProto &output : bodyGraph.output()) {
    const Binding *result = lookup(output.name(), loc);
    if (!result)
      return failure();
    results.push_back(*result);
  }
  return results;
}

LogicalResult GraphImporter::countIteration(const onnx::NodeProto &node,
                                            const onnx::GraphProto &graph,
                                            Location loc, bool isConditional) {
  unrolledNodes += (1 + static_cast<int64_t>(graph.node_size())) *
                   (isConditional ? kConditionalCost : 1);
  if (unrolledNodes <= kMaxIterations)
    return success();
  if (isConditional)
    return emitUserError(
        loc,
        Twine(node.op_type()) +
            ": its condition depends on data, and more "
            "than " +
            Twine(kMaxIterations / kConditionalCost) +
            " nodes of all iterations may be computed",
        "export the model with a smaller number of iterations, or with a "
        "condition that is known");
  return emitUserError(
      loc,
      Twine(node.op_type()) + ": unrolled, loops have more than " +
          Twine(kMaxIterations) + " iterations and nodes",
      "loops are unrolled; bind a smaller size with --dim, or use an operator "
      "that computes all steps at once");
}

FailureOr<Value> GraphImporter::join(ArrayRef<Value> values, int64_t dim,
                                     Location loc,
                                     const onnx::NodeProto &node) {
  SmallVector<Value> parts;
  RankedTensorType first = ingot::tensorType(values.front());
  int64_t rank = first.getRank() + 1;
  if (dim < -rank || dim >= rank)
    return malformed(node, loc,
                     "axis " + Twine(dim) + " of rank " + Twine(rank));
  dim = dim < 0 ? dim + rank : dim;
  for (Value value : values) {
    if (value.getType() != first)
      return malformed(node, loc, "iterations compute different shapes");
    SmallVector<int64_t> shape(first.getShape());
    shape.insert(shape.begin() + dim, 1);
    parts.push_back(reshapeTo(builder, loc, value, shape));
  }
  if (parts.size() == 1)
    return parts.front();
  SmallVector<int64_t> shape(first.getShape());
  shape.insert(shape.begin() + dim, values.size());
  return Value(ConcatOp::create(
      builder, loc, RankedTensorType::get(shape, first.getElementType()), parts,
      dim));
}

LogicalResult
GraphImporter::collect(const onnx::NodeProto &node, Location loc,
                       ArrayRef<Binding> results,
                       MutableArrayRef<SmallVector<Value>> collected) {
  for (auto [result, values] : llvm::zip_equal(results, collected)) {
    if (!result.value)
      return malformed(node, loc, "the body computes no tensor");
    values.push_back(result.value);
  }
  return success();
}

LogicalResult GraphImporter::bindCollected(
    const onnx::NodeProto &node, Location loc, SmallVector<Binding> carried,
    ArrayRef<SmallVector<Value>> collected, ArrayRef<int64_t> dims) {
  builder.setInsertionPointToEnd(body);
  Operation *last = body->empty() ? nullptr : &body->back();
  SmallVector<Binding> outputs(std::move(carried));
  for (auto [values, dim] : llvm::zip_equal(collected, dims)) {
    FailureOr<Value> joined = join(values, dim, loc, node);
    if (failed(joined))
      return failure();
    outputs.push_back({*joined, std::nullopt});
  }
  bindOutputs(node, last, outputs);
  return success();
}

LogicalResult GraphImporter::importControl(const onnx::NodeProto &node,
                                           Location loc) {
  if (node.op_type() == "If")
    return importIf(node, loc);
  if (node.op_type() == "Loop")
    return importLoop(node, loc);
  if (node.op_type() == "Scan")
    return importScan(node, loc);
  return importSequenceMap(node, loc);
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Returns the selection between what two branches computed.
static FailureOr<Binding> choose(OpBuilder &b, Location loc, Value condition,
                                 const Binding &onTrue,
                                 const Binding &onFalse) {
  auto one = [&](Value x, Value y) -> FailureOr<Value> {
    if (x == y)
      return x;
    if (x.getType() != y.getType())
      return emitUserError(
          loc,
          "If: the branches of a condition that depends on data compute "
          "different shapes or types",
          "export the model with branches that compute the same shapes");
    RankedTensorType type = ingot::tensorType(x);
    Value wide = broadcastTo(b, loc, condition, type.getShape(), {});
    return Value(SelectOp::create(b, loc, type, wide, x, y));
  };
  Binding result;
  if (onTrue.value && onFalse.value) {
    FailureOr<Value> value = one(onTrue.value, onFalse.value);
    if (failed(value))
      return failure();
    result.value = *value;
    return result;
  }
  if (onTrue.isAbsent && onFalse.isAbsent)
    return onTrue;
  if (!onTrue.sequence || !onFalse.sequence ||
      onTrue.sequence->size() != onFalse.sequence->size())
    return emitUserError(loc,
                         "If: the branches of a condition that depends on data "
                         "compute sequences of different lengths",
                         "export the model without sequences");
  result.sequence.emplace();
  for (auto [x, y] : llvm::zip_equal(*onTrue.sequence, *onFalse.sequence)) {
    FailureOr<Value> value = one(x, y);
    if (failed(value))
      return failure();
    result.sequence->push_back(*value);
  }
  return result;
}

void GraphImporter::bindOutputs(const onnx::NodeProto &node, Operation *last,
                                MutableArrayRef<Binding> outputs) {
  SmallVector<Binding *> settled;
  for (Binding &output : outputs)
    settled.push_back(&output);
  settle(last, settled);
  for (auto [name, output] : llvm::zip_equal(node.output(), outputs))
    bind(name, std::move(output));
}

LogicalResult GraphImporter::importIf(const onnx::NodeProto &node,
                                      Location loc) {
  FailureOr<SmallVector<Binding>> inputs = bindingsOf(node, 0, loc);
  if (failed(inputs))
    return failure();
  Attributes attributes(node);
  const onnx::GraphProto *branches[] = {attributes.graph("then_branch"),
                                        attributes.graph("else_branch")};
  for (const onnx::GraphProto *branch : branches)
    if (!branch || branch->output_size() != node.output_size())
      return malformed(node, loc, "the branches do not fit the outputs");
  Value condition = inputs->size() == 1 ? inputs->front().value : Value();
  if (!condition || ingot::tensorType(condition).getNumElements() != 1 ||
      !ingot::tensorType(condition).getElementType().isInteger(1))
    return malformed(node, loc, "the condition is not one boolean");

  if (std::optional<int64_t> known = knownScalar(condition)) {
    FailureOr<SmallVector<Binding>> results =
        importBody(*branches[*known ? 0 : 1], {}, loc);
    if (failed(results))
      return failure();
    for (auto [name, result] : llvm::zip_equal(node.output(), *results))
      bind(name, std::move(result));
    return success();
  }

  // States that a branch updates are selected like its results.
  auto before = stateValues;
  FailureOr<SmallVector<Binding>> onTrue = importBody(*branches[0], {}, loc);
  if (failed(onTrue))
    return failure();
  auto afterTrue = stateValues;
  for (auto &[name, state] : stateValues)
    if (auto old = before.find(name); old != before.end())
      state.current = old->second.current;
  FailureOr<SmallVector<Binding>> onFalse = importBody(*branches[1], {}, loc);
  if (failed(onFalse))
    return failure();
  builder.setInsertionPointToEnd(body);
  Operation *last = body->empty() ? nullptr : &body->back();
  condition = reshapeTo(builder, loc, condition, {});
  SmallVector<Binding> results;
  for (auto [x, y] : llvm::zip_equal(*onTrue, *onFalse)) {
    FailureOr<Binding> result = choose(builder, loc, condition, x, y);
    if (failed(result))
      return failure();
    results.push_back(std::move(*result));
  }
  for (auto &[name, state] : stateValues) {
    auto old = afterTrue.find(name);
    if (old == afterTrue.end())
      continue;
    Binding x, y;
    x.value = old->second.current;
    y.value = state.current;
    FailureOr<Binding> result = choose(builder, loc, condition, x, y);
    if (failed(result))
      return failure();
    state.current = result->value;
  }
  bindOutputs(node, last, results);
  return success();
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::importLoop(const onnx::NodeProto &node,
                                        Location loc) {
  FailureOr<SmallVector<Binding>> inputs = bindingsOf(node, 0, loc);
  if (failed(inputs))
    return failure();
  const onnx::GraphProto *loop = Attributes(node).graph("body");
  if (!loop || inputs->size() < 2)
    return malformed(node, loc, "no body, or too few inputs");
  int carriedCount = static_cast<int>(inputs->size()) - 2;
  int scanned = node.output_size() - carriedCount;
  if (loop->input_size() != carriedCount + 2 || scanned < 0 ||
      loop->output_size() != node.output_size() + 1)
    return malformed(node, loc, "the body does not fit the inputs and outputs");

  int64_t count = kMaxIterations;
  bool isCounted = !(*inputs)[0].isAbsent;
  if (isCounted) {
    std::optional<int64_t> known = knownScalar((*inputs)[0].value);
    if (!known)
      return unknown(node, loc, "the number of iterations");
    count = std::max<int64_t>(*known, 0);
  }
  Type i1 = builder.getI1Type(), i64 = builder.getI64Type();
  Binding condition = (*inputs)[1];
  builder.setInsertionPointToEnd(body);
  if (condition.isAbsent)
    condition.value = splat(builder, loc, RankedTensorType::get({}, i1), 1.0);
  condition.isAbsent = false;
  SmallVector<Binding> carried(inputs->begin() + 2, inputs->end());
  std::vector<SmallVector<Value>> collected(scanned);
  std::optional<int64_t> holds = knownScalar(condition.value);
  if (isCounted && holds && *holds && rollsLoop(count, loop->node_size(), loc))
    if (auto results = importRolled(
            {*loop, count, /*reverse=*/false, carried, {}, true}, loc)) {
      for (auto [name, result] : llvm::zip_equal(node.output(), *results))
        bind(name, {result, std::nullopt});
      return success();
    }

  // Set from the iteration on from which the condition depends on data: later
  // iterations then keep the values where it does not hold.
  Value active;
  for (int64_t i = 0; i < count; ++i) {
    std::optional<int64_t> known = knownScalar(condition.value);
    if (known && !*known)
      break;
    if (!known) {
      if (!isCounted)
        return unknown(node, loc, "the number of iterations");
      if (scanned)
        return unknown(node, loc, "the size of what iterations compute");
      builder.setInsertionPointToEnd(body);
      Value holds = reshapeTo(builder, loc, condition.value, {});
      active = active ? Value(AndOp::create(builder, loc, holds.getType(),
                                            active, holds))
                      : holds;
    }
    if (i + 1 == kMaxIterations)
      return emitUserError(
          loc, "Loop: more than " + Twine(kMaxIterations) + " iterations",
          "loops are unrolled; export the model with fewer");
    builder.setInsertionPointToEnd(body);
    SmallVector<Binding> arguments(2);
    arguments[0].value = splat(builder, loc, RankedTensorType::get({}, i64),
                               static_cast<double>(i));
    arguments[1] = condition;
    llvm::append_range(arguments, carried);
    FailureOr<SmallVector<Binding>> results = importBody(*loop, arguments, loc);
    if (failed(results) ||
        failed(countIteration(node, *loop, loc, /*isConditional=*/!!active)))
      return failure();
    condition = (*results)[0];
    builder.setInsertionPointToEnd(body);
    for (int k = 0; k < carriedCount; ++k) {
      if (!active) {
        carried[k] = std::move((*results)[k + 1]);
        continue;
      }
      FailureOr<Binding> kept =
          choose(builder, loc, active, (*results)[k + 1], carried[k]);
      if (failed(kept))
        return failure();
      carried[k] = std::move(*kept);
    }
    if (failed(collect(node, loc,
                       ArrayRef(*results).drop_front(carriedCount + 1),
                       collected)))
      return failure();
  }

  if (llvm::any_of(collected,
                   [](const auto &values) { return values.empty(); }))
    return unknown(node, loc, "the shape of what no iteration computes");
  return bindCollected(node, loc, std::move(carried), collected,
                       SmallVector<int64_t>(scanned, 0));
}

//===----------------------------------------------------------------------===//
// SequenceMap
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::importSequenceMap(const onnx::NodeProto &node,
                                               Location loc) {
  FailureOr<SmallVector<Binding>> inputs = bindingsOf(node, 0, loc);
  if (failed(inputs))
    return failure();
  const onnx::GraphProto *map = Attributes(node).graph("body");
  if (!map || inputs->empty() || !inputs->front().sequence ||
      map->output_size() != node.output_size() ||
      map->input_size() != static_cast<int>(inputs->size()))
    return malformed(node, loc, "the body does not fit the inputs and outputs");
  size_t length = inputs->front().sequence->size();
  SmallVector<Binding> outputs(node.output_size());
  for (Binding &output : outputs)
    output.sequence.emplace();
  for (size_t i = 0; i < length; ++i) {
    SmallVector<Binding> arguments;
    for (const Binding &input : *inputs) {
      if (!input.sequence) {
        arguments.push_back(input);
        continue;
      }
      if (input.sequence->size() != length)
        return malformed(node, loc, "sequences of different lengths");
      arguments.push_back({(*input.sequence)[i], std::nullopt});
    }
    FailureOr<SmallVector<Binding>> results = importBody(*map, arguments, loc);
    if (failed(results) || failed(countIteration(node, *map, loc)))
      return failure();
    for (auto [output, result] : llvm::zip_equal(outputs, *results)) {
      if (!result.value)
        return malformed(node, loc, "the body computes no tensor");
      output.sequence->push_back(result.value);
    }
  }
  for (auto [name, output] : llvm::zip_equal(node.output(), outputs))
    bind(name, std::move(output));
  return success();
}
