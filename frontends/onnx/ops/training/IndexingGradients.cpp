// SPDX-License-Identifier: Apache-2.0

// Gradients of operators that select elements. They are linear: zeros of the
// operand's shape stand for the operand.

#include "frontends/onnx/ops/training/Gradients.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Returns zeros of the shape that is input `i`.
static FailureOr<Value> zerosOfShape(Node &node, size_t i, Type element) {
  FailureOr<Shape> shape = node.constantInts(i, "the shape");
  if (failed(shape))
    return failure();
  constexpr int64_t kLimit = int64_t(1) << 40;
  int64_t elements = 1;
  for (int64_t size : *shape) {
    if (size < 0 || (size && elements > kLimit / size))
      return node.malformed("the shape " + shapeText(*shape));
    elements *= size;
  }
  return splat(node.b, node.loc, RankedTensorType::get(*shape, element), 0.0);
}

/// Imports a gradient by the first of the operator's inputs, which are zeros of
/// the shape `shape` and the node's inputs `others`; `dy` is the gradient of
/// the result.
static LogicalResult importSelectionGradient(Node &node, StringRef opType,
                                             size_t dy, size_t shape,
                                             ArrayRef<size_t> others) {
  if (failed(node.requireFloat(dy)))
    return failure();
  FailureOr<Value> operand =
      zerosOfShape(node, shape, node.type(dy).getElementType());
  if (failed(operand))
    return failure();
  SmallVector<Value> inputs = {*operand};
  for (size_t i : others)
    inputs.push_back(node.in(i));
  FailureOr<SmallVector<Value>> gradients =
      pullBack(node, opType, inputs, {node.in(dy)}, {0});
  if (failed(gradients))
    return failure();
  setResults(node, *gradients, inputs);
  return success();
}

static LogicalResult importGatherGrad(Node &node) {
  return importSelectionGradient(node, "Gather", 2, 0, {1});
}

static LogicalResult importGatherNDGrad(Node &node) {
  return importSelectionGradient(node, "GatherND", 2, 0, {1});
}

static LogicalResult importGatherElementsGrad(Node &node) {
  return importSelectionGradient(node, "GatherElements", 0, 1, {2});
}

static LogicalResult importSliceGrad(Node &node) {
  return importSelectionGradient(node, "Slice", 0, 1, {2, 3, 4, 5});
}

/// Inputs: the gradient, the operand, the region and the scales.
static LogicalResult importResizeGrad(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  SmallVector<Value> inputs = {node.in(1), node.in(2), node.in(3)};
  FailureOr<SmallVector<Value>> gradients =
      pullBack(node, "Resize", inputs, {node.in(0)}, {0});
  if (failed(gradients))
    return failure();
  setResults(node, *gradients, inputs);
  return success();
}

void onnx_import::registerIndexingGradients(Registry &registry) {
  registry.add("com.microsoft::GatherGrad", importGatherGrad);
  registry.add("com.microsoft::GatherNDGrad", importGatherNDGrad);
  registry.add("com.microsoft::GatherElementsGrad", importGatherElementsGrad);
  registry.add("com.microsoft::SliceGrad", importSliceGrad);
  registry.add("com.microsoft::ResizeGrad", importResizeGrad);
}
