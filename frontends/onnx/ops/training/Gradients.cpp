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
