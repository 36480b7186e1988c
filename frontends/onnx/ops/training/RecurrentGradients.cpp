// SPDX-License-Identifier: Apache-2.0

// Recurrent networks in the forms that ONNX Runtime trains: their additional
// results, which only their gradients read, are not computed, because the
// gradients are those of the forward ops.

#include "frontends/onnx/ops/training/Gradients.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Imports the forward pass: the first `results` results of the operator.
static LogicalResult importForward(Node &node, StringRef opType,
                                   size_t results) {
  onnx::NodeProto proto = node.getProto();
  proto.set_op_type(opType.str());
  proto.clear_domain();
  while (proto.output_size() > static_cast<int>(results))
    proto.mutable_output()->RemoveLast();
  SmallVector<Value> inputs;
  for (size_t i = 0; i < node.inputCount(); ++i)
    inputs.push_back(node.in(i));
  FailureOr<SmallVector<Binding>> forward = importAs(node, proto, inputs);
  if (failed(forward))
    return failure();
  for (auto [i, result] : llvm::enumerate(*forward))
    node.set(i, result.value);
  return success();
}

/// Imports the gradients by `inputs`: of the node's outputs, the one at `i` is
/// that by input `order[i]` of the operator.
static LogicalResult importBackward(Node &node, StringRef opType,
                                    ArrayRef<Value> inputs,
                                    ArrayRef<Value> cotangents,
                                    ArrayRef<unsigned> order) {
  SmallVector<unsigned> wanted, places;
  for (auto [place, input] : llvm::enumerate(order)) {
    if (!node.wants(place))
      continue;
    if (!inputs[input])
      return node.malformed("the gradient by an input that is missing");
    wanted.push_back(input);
    places.push_back(static_cast<unsigned>(place));
  }
  FailureOr<SmallVector<Value>> gradients =
      pullBack(node, opType, inputs, cotangents, wanted);
  if (failed(gradients))
    return failure();
  for (auto [i, place] : llvm::enumerate(places))
    node.set(place, (*gradients)[i] ? (*gradients)[i]
                                    : node.splatOf(inputs[wanted[i]], 0.0));
  return success();
}

static LogicalResult importLSTMTraining(Node &node) {
  return importForward(node, "LSTM", 3);
}

static LogicalResult importGRUTraining(Node &node) {
  return importForward(node, "GRU", 2);
}

/// Inputs: X, W, R, lengths, initial h and c, the forward pass's results, then
/// the gradients of Y, Y_h and Y_c, and B and P of the forward pass.
static LogicalResult importLSTMGrad(Node &node) {
  return importBackward(node, "LSTM",
                        {node.in(0), node.in(1), node.in(2), node.in(12),
                         node.in(3), node.in(4), node.in(5), node.in(13)},
                        {node.in(9), node.in(10), node.in(11)},
                        {0, 1, 2, 3, 5, 6, 7});
}

/// Inputs: X, W, R, B, lengths, initial h, the forward pass's results, then the
/// gradients of Y and Y_h.
static LogicalResult importGRUGrad(Node &node) {
  return importBackward(
      node, "GRU",
      {node.in(0), node.in(1), node.in(2), node.in(3), node.in(4), node.in(5)},
      {node.in(8), node.in(9)}, {0, 1, 2, 3, 5});
}

void onnx_import::registerRecurrentGradients(Registry &registry) {
  registry.add("com.microsoft::LSTMTraining", importLSTMTraining);
  registry.add("com.microsoft::LSTMGrad", importLSTMGrad);
  registry.add("com.microsoft::GRUTraining", importGRUTraining);
  registry.add("com.microsoft::GRUGrad", importGRUGrad);
}
