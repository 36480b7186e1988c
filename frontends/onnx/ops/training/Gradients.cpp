// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/ops/training/Gradients.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

LogicalResult onnx_import::setGradients(Node &node, Operation *op,
                                        ArrayRef<Value> cotangents,
                                        ArrayRef<unsigned> operands) {
  llvm::BitVector needed(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(operands))
    if (node.wants(i))
      needed.set(operand);
  SmallVector<Value> gradients(op->getNumOperands());
  if (failed(cast<Differentiable>(op).buildVjp(node.b, cotangents, needed,
                                               gradients)))
    return failure();
  SmallVector<Value> results, like;
  for (unsigned operand : operands) {
    results.push_back(gradients[operand]);
    like.push_back(op->getOperand(operand));
  }
  setResults(node, results, like);
  return success();
}

void onnx_import::setResults(Node &node, ArrayRef<Value> gradients,
                             ArrayRef<Value> inputs) {
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (node.wants(i))
      node.set(i, gradient ? gradient : node.splatOf(inputs[i], 0.0));
}

namespace {
/// Reverse mode over ops that were just created.
class Tape {
public:
  Tape(OpBuilder &builder, Location loc, ArrayRef<Operation *> ops,
       ArrayRef<Value> inputs)
      : builder(builder), loc(loc), ops(ops) {
    active.insert_range(inputs);
    for (Operation *op : ops)
      if (llvm::any_of(op->getOperands(),
                       [&](Value v) { return active.contains(v); }))
        for (Value result : op->getResults())
          if (isa<FloatType>(tensorType(result).getElementType()))
            active.insert(result);
  }

  void add(Value value, Value cotangent) {
    Value &sum = cotangents[value];
    sum = addOrNull(builder, loc, sum, cotangent);
  }
  Value get(Value value) const { return cotangents.lookup(value); }

  LogicalResult run() {
    for (Operation *op : llvm::reverse(ops)) {
      auto given = llvm::map_to_vector(op->getResults(),
                                       [&](Value v) { return get(v); });
      llvm::BitVector needed(op->getNumOperands());
      for (auto [i, operand] : llvm::enumerate(op->getOperands()))
        if (active.contains(operand))
          needed.set(i);
      if (needed.none() ||
          llvm::none_of(given, [](Value v) { return static_cast<bool>(v); }))
        continue;
      auto differentiable = dyn_cast<Differentiable>(op);
      SmallVector<Value> gradients(op->getNumOperands());
      if (!differentiable ||
          failed(differentiable.buildVjp(builder, given, needed, gradients)))
        return failure();
      for (unsigned i : needed.set_bits())
        if (gradients[i])
          add(op->getOperand(i), gradients[i]);
    }
    return success();
  }

private:
  OpBuilder &builder;
  Location loc;
  ArrayRef<Operation *> ops;
  DenseSet<Value> active;
  DenseMap<Value, Value> cotangents;
};
} // namespace

/// Imports the derivatives of the value `y` by the inputs that `xs` names,
/// which are values of the graph, while others (`zs`) are constant.
static LogicalResult importGradient(Node &node) {
  const onnx::AttributeProto *xs = node.find("xs");
  Value y = node.graph.valueOf(node.stringAttr("y", ""));
  Value start = node.graph.cotangent();
  if (!xs || static_cast<size_t>(xs->strings_size()) > node.inputCount())
    return node.malformed("xs does not name inputs");
  if (!y || !isa<FloatType>(tensorType(y).getElementType()))
    return node.malformed("y does not name a floating-point value");
  SmallVector<Value> sources;
  for (int i = 0; i < xs->strings_size(); ++i) {
    if (node.graph.valueOf(xs->strings(i)) != node.in(i))
      return node.unsupported("an input other than the value that xs names");
    sources.push_back(node.in(i));
  }
  SmallVector<Operation *> ops;
  for (Operation &op : *node.b.getInsertionBlock())
    ops.push_back(&op);
  Tape tape(node.b, node.loc, ops, sources);
  // With a start of the backward pass, gradients are those of its multiple.
  Value one = node.splatOf(y, 1.0);
  if (start)
    one = broadcastTo(
        node.b, node.loc,
        node.cast(node.reshape(start, {}), tensorType(y).getElementType()),
        tensorType(y).getShape(), {});
  tape.add(y, one);
  if (failed(tape.run()))
    return node.unsupported("the gradient of an operator between x and y");
  for (auto [i, source] : llvm::enumerate(sources)) {
    Value gradient = tape.get(source);
    node.set(i, gradient ? gradient : node.splatOf(source, 0.0));
  }
  return success();
}

/// The inputs that importers of ONNX Runtime's operators read without asking
/// whether they are there.
static constexpr std::pair<const char *, unsigned> kRequired[] = {
    {"AveragePoolGrad", 1},
    {"BatchNormInternal", 5},
    {"BatchNormalizationGrad", 5},
    {"BiasFastGeluGrad_dX", 2},
    {"BiasGelu", 2},
    {"BiasGeluGrad_dX", 2},
    {"BroadcastGradientArgs", 2},
    {"ConcatTraining", 1},
    {"ConvGrad", 3},
    {"ConvTransposeGrad", 3},
    {"DivGrad", 3},
    {"DropoutGrad", 2},
    {"FastGelu", 1},
    {"FastGeluGrad", 2},
    {"FusedMatMul", 2},
    {"GRUGrad", 3},
    {"GRUTraining", 3},
    {"GatherElementsGrad", 3},
    {"GatherGrad", 3},
    {"GatherNDGrad", 3},
    {"Gelu", 1},
    {"GeluGrad", 2},
    {"LSTMGrad", 3},
    {"LSTMTraining", 3},
    {"LayerNormalization", 2},
    {"LayerNormalizationGrad", 5},
    {"LeakyReluGrad", 2},
    {"LogSoftmaxGrad", 2},
    {"LogSoftmaxGrad_13", 2},
    {"MaxPoolGrad", 2},
    {"QuickGelu", 1},
    {"QuickGeluGrad", 2},
    {"ReduceSumTraining", 2},
    {"ReluGrad", 2},
    {"ResizeGrad", 2},
    {"Scale", 2},
    {"ScaledSum", 2},
    {"SigmoidGrad", 2},
    {"SimplifiedLayerNormalization", 2},
    {"SimplifiedLayerNormalizationGrad", 4},
    {"SliceGrad", 4},
    {"SoftmaxCrossEntropyLossGrad", 3},
    {"SoftmaxCrossEntropyLossInternal", 2},
    {"SoftmaxCrossEntropyLossInternalGrad", 3},
    {"SoftmaxGrad", 2},
    {"SoftmaxGrad_13", 2},
    {"SplitTraining", 2},
    {"TanhGrad", 2},
};

void onnx_import::registerGradient(Registry &registry) {
  for (auto [name, inputs] : kRequired)
    registry.require(("com.microsoft::" + Twine(name)).str(), inputs);
  registry.add("ai.onnx.preview.training::Gradient", importGradient);
}

FailureOr<SmallVector<Value>>
onnx_import::pullBack(Node &node, StringRef opType, ArrayRef<Value> inputs,
                      ArrayRef<Value> cotangents, ArrayRef<unsigned> wanted) {
  onnx::NodeProto proto = node.getProto();
  proto.set_op_type(opType.str());
  proto.clear_domain();
  proto.clear_output();
  for (size_t i = 0; i < cotangents.size(); ++i)
    proto.add_output(("result" + Twine(i)).str());
  Block *block = node.b.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  FailureOr<SmallVector<Binding>> results = importAs(node, proto, inputs);
  if (failed(results))
    return failure();
  SmallVector<Operation *> ops;
  for (Operation *op = before ? before->getNextNode() : &block->front(); op;
       op = op->getNextNode())
    ops.push_back(op);

  SmallVector<Value> sources;
  for (unsigned i : wanted)
    sources.push_back(inputs[i]);
  Tape tape(node.b, node.loc, ops, sources);
  for (auto [result, cotangent] : llvm::zip_equal(*results, cotangents)) {
    if (!cotangent)
      continue;
    if (!result.value || result.value.getType() != cotangent.getType())
      return node.malformed("a gradient does not have the shape of the result "
                            "of " +
                            opType);
    tape.add(result.value, cotangent);
  }
  if (failed(tape.run()))
    return node.unsupported("the gradient of " + opType);
  SmallVector<Value> gradients;
  for (Value source : sources)
    gradients.push_back(tape.get(source));
  // Of an operator that is linear, nothing else is left.
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  return gradients;
}
