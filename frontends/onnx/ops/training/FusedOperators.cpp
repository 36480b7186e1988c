// SPDX-License-Identifier: Apache-2.0

// Operators that ONNX Runtime puts in the place of standard ones, in training
// graphs.

#include "frontends/onnx/ops/runtime/Runtime.h"
#include "frontends/onnx/ops/training/Gradients.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Returns the operand with its first dimension behind the other batch
/// dimensions, if `batch`, and then the last two exchanged, if `last`.
static Value transposed(Node &node, Value value, bool batch, bool last) {
  int64_t rank = tensorType(value).getRank();
  if (rank < 2)
    return value;
  if (batch) {
    Shape permutation;
    for (int64_t i = 1; i + 1 < rank; ++i)
      permutation.push_back(i);
    permutation.append({0, rank - 1});
    value = node.transpose(value, permutation);
  }
  if (last) {
    Shape permutation;
    for (int64_t i = 0; i + 2 < rank; ++i)
      permutation.push_back(i);
    permutation.append({rank - 1, rank - 2});
    value = node.transpose(value, permutation);
  }
  return value;
}

FailureOr<Value> onnx_import::importFusedProduct(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value lhs = transposed(node, node.in(0), node.intAttr("transBatchA", 0),
                         node.intAttr("transA", 0));
  Value rhs = transposed(node, node.in(1), node.intAttr("transBatchB", 0),
                         node.intAttr("transB", 0));
  FailureOr<Value> product = node.matmul(lhs, rhs);
  if (failed(product))
    return failure();
  double alpha = node.floatAttr("alpha", 1.0);
  return alpha == 1.0 ? *product : node.binary<MulOp>(*product, alpha);
}

static LogicalResult importFusedMatMul(Node &node) {
  FailureOr<Value> product = importFusedProduct(node);
  return failed(product) ? failure() : node.result(*product);
}

/// Imports a product with, or a quotient by, a scalar of any type.
static LogicalResult importScale(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.type(1).getNumElements() != 1)
    return node.malformed("the scale has shape " + shapeText(node.shape(1)));
  Value scalar =
      node.cast(node.reshape(node.in(1), {}), node.type(0).getElementType());
  Value scale = node.broadcast(scalar, node.shape(0));
  return node.result(node.intAttr("scale_down", 0)
                         ? node.binary<DivOp>(node.in(0), scale)
                         : node.binary<MulOp>(node.in(0), scale));
}

/// Imports the sum of two or three tensors times numbers.
static LogicalResult importScaledSum(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value sum;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    if (!node.has(i))
      continue;
    if (node.type(i) != node.type(0))
      return node.malformed("inputs of different shapes");
    Value term = node.binary<MulOp>(
        node.in(i), node.floatAttr("scale_" + std::to_string(i), 1.0));
    sum = sum ? node.binary<AddOp>(sum, term) : term;
  }
  return node.result(sum);
}

/// Imports the node as a standard operator with some of its outputs.
static LogicalResult importStandard(Node &node, StringRef opType,
                                    ArrayRef<Value> inputs) {
  onnx::NodeProto proto = node.getProto();
  proto.set_op_type(opType.str());
  proto.clear_domain();
  FailureOr<SmallVector<Binding>> results = importAs(node, proto, inputs);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    node.set(i, result.value);
  return success();
}

/// The second result is the size of each input along the axis.
static LogicalResult importConcatTraining(Node &node) {
  FailureOr<SmallVector<Value>> inputs = node.allInputs();
  if (failed(inputs) || inputs->empty())
    return failure();
  FailureOr<int64_t> axis =
      node.normalizeAxis(node.intAttr("axis", 0), node.rank(0));
  if (failed(axis) || failed(importStandard(node, "Concat", *inputs)))
    return failure();
  Shape sizes;
  for (Value input : *inputs)
    sizes.push_back(tensorType(input).getDimSize(*axis));
  node.set(1, node.constantInts(sizes));
  return success();
}

static LogicalResult importSplitTraining(Node &node) {
  return importStandard(node, "Split", {node.in(0), node.in(1)});
}

static LogicalResult importReduceSumTraining(Node &node) {
  return importStandard(node, "ReduceSum", {node.in(0), node.in(1)});
}

/// The index that does not count is an input.
static LogicalResult importCrossEntropyInternal(Node &node) {
  onnx::NodeProto proto = node.getProto();
  proto.set_op_type("SoftmaxCrossEntropyLoss");
  proto.clear_domain();
  if (node.has(3)) {
    FailureOr<double> ignored = node.constantScalar(3, "ignore_index");
    if (failed(ignored))
      return failure();
    onnx::AttributeProto &attribute = *proto.add_attribute();
    attribute.set_name("ignore_index");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(static_cast<int64_t>(*ignored));
  }
  FailureOr<SmallVector<Binding>> results =
      importAs(node, proto, {node.in(0), node.in(1), node.in(2)});
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    node.set(i, result.value);
  return success();
}

/// Returns the dimensions of a broadcast result over which the gradient by an
/// operand of the shape is summed.
static Shape broadcastDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> result) {
  Shape dims;
  size_t added = result.size() - shape.size();
  for (size_t i = result.size(); i-- > 0;)
    if (i < added || (shape[i - added] == 1 && result[i] != 1))
      dims.push_back(static_cast<int64_t>(i));
  return dims;
}

/// Inputs: the shapes of two operands. Results: for each, the dimensions over
/// which its gradient is summed.
static LogicalResult importBroadcastGradientArgs(Node &node) {
  FailureOr<Shape> a = node.constantInts(0, "the shape");
  FailureOr<Shape> b = failed(a) ? a : node.constantInts(1, "the shape");
  if (failed(b))
    return failure();
  Shape result(a->size() > b->size() ? *a : *b);
  const Shape &shorter = a->size() > b->size() ? *b : *a;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t &size = result[result.size() - shorter.size() + i];
    if (size != shorter[i] && size != 1 && shorter[i] != 1)
      return node.malformed("shapes " + shapeText(*a) + " and " +
                            shapeText(*b) + " do not broadcast");
    size = size == 1 ? shorter[i] : size;
  }
  node.set(0, node.constantInts(broadcastDims(*a, result)));
  node.set(1, node.constantInts(broadcastDims(*b, result)));
  return success();
}

void onnx_import::registerFusedOperators(Registry &registry) {
  registry.add("com.microsoft::FusedMatMul", importFusedMatMul);
  registry.add("com.microsoft::TransposeMatMul", importFusedMatMul);
  registry.add("com.microsoft::Scale", importScale);
  registry.add("com.microsoft::ScaledSum", importScaledSum);
  registry.add("com.microsoft::ConcatTraining", importConcatTraining);
  registry.add("com.microsoft::SplitTraining", importSplitTraining);
  registry.add("com.microsoft::ReduceSumTraining", importReduceSumTraining);
  registry.add("com.microsoft::SoftmaxCrossEntropyLossInternal",
               importCrossEntropyInternal);
  registry.add("com.microsoft::BroadcastGradientArgs",
               importBroadcastGradientArgs);
}
