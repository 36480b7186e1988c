// SPDX-License-Identifier: Apache-2.0

// Gradients of convolutions and pools.

#include "frontends/onnx/ops/training/Gradients.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Inputs: the gradient, the operand and the weights. Results: the gradients by
/// the operand, the weights and the bias.
static LogicalResult importConvolutionGradient(Node &node, StringRef opType) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.rank(0) < 3)
    return node.malformed("no spatial dimensions");
  SmallVector<Value> inputs = {node.in(1), node.in(2)};
  SmallVector<unsigned> wanted;
  for (unsigned i : {0U, 1U})
    if (node.wants(i))
      wanted.push_back(i);
  if (!wanted.empty()) {
    FailureOr<SmallVector<Value>> gradients =
        pullBack(node, opType, inputs, {node.in(0)}, wanted);
    if (failed(gradients))
      return failure();
    for (auto [i, gradient] : llvm::zip_equal(wanted, *gradients))
      node.set(i, gradient);
  }
  if (node.wants(2)) {
    Shape dims = {0};
    for (int64_t dim = 2; dim < node.rank(0); ++dim)
      dims.push_back(dim);
    node.set(2, node.reduce(ReductionKind::Sum, node.in(0), dims,
                            /*keep=*/false));
  }
  return success();
}

static LogicalResult importConvGrad(Node &node) {
  return importConvolutionGradient(node, "Conv");
}

static LogicalResult importConvTransposeGrad(Node &node) {
  return importConvolutionGradient(node, "ConvTranspose");
}

/// Imports the gradient of a pool by its operand, which is the last input: the
/// attributes do not tell its size.
static LogicalResult importPoolGradient(Node &node, StringRef opType,
                                        size_t operand) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (!node.has(operand))
    return node.unsupported("the gradient of a pool that is not in the graph");
  SmallVector<Value> inputs = {node.in(operand)};
  FailureOr<SmallVector<Value>> gradients =
      pullBack(node, opType, inputs, {node.in(0)}, {0});
  if (failed(gradients))
    return failure();
  setResults(node, *gradients, inputs);
  return success();
}

static LogicalResult importMaxPoolGrad(Node &node) {
  return importPoolGradient(node, "MaxPool", 2);
}

static LogicalResult importAveragePoolGrad(Node &node) {
  return importPoolGradient(node, "AveragePool", 1);
}

void onnx_import::registerWindowGradients(Registry &registry) {
  registry.add("com.microsoft::ConvGrad", importConvGrad);
  registry.add("com.microsoft::ConvTransposeGrad", importConvTransposeGrad);
  registry.add("com.microsoft::MaxPoolGrad", importMaxPoolGrad);
  registry.add("com.microsoft::AveragePoolGrad", importAveragePoolGrad);
}
