// SPDX-License-Identifier: Apache-2.0

// Gradients of losses.

#include "frontends/onnx/ops/training/Gradients.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// The inputs of the gradient of a cross entropy, which differ between its two
/// forms: whether the index that does not count is an input, and a summand.
namespace {
struct CrossEntropyGradient {
  Value weights, summand;
  std::optional<int64_t> ignored;
};
} // namespace

/// Computes the cotangent of each label's loss from that of their reduction.
static FailureOr<Value> cotangentOfLosses(Node &node, Value labels,
                                          RankedTensorType type,
                                          const CrossEntropyGradient &grad) {
  std::string reduction = node.stringAttr("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return node.malformed("reduction is '" + reduction + "'");
  Value dy = node.cast(node.in(0), type.getElementType());
  if (reduction == "none" &&
      !llvm::equal(tensorType(dy).getShape(), type.getShape()))
    return node.malformed("the gradient " + shapeText(node.shape(0)) +
                          " for labels " + shapeText(type.getShape()));
  if (reduction != "none" && tensorType(dy).getNumElements() != 1)
    return node.malformed("the gradient of a scalar has shape " +
                          shapeText(node.shape(0)));
  Value weights;
  if (grad.weights)
    weights = GatherOp::create(node.b, node.loc, type,
                               node.cast(grad.weights, type.getElementType()),
                               labels, 0);
  if (reduction == "mean") {
    Value counts;
    if (grad.ignored) {
      Value used = node.compare(Predicate::NE, labels,
                                static_cast<double>(*grad.ignored));
      counts = node.cast(used, type.getElementType());
    }
    if (weights)
      counts = counts ? node.binary<MulOp>(counts, weights) : weights;
    dy = node.reshape(dy, {});
    if (counts) {
      auto dims = llvm::seq<int64_t>(0, type.getRank());
      Value total = node.reduce(ReductionKind::Sum, counts,
                                Shape(dims.begin(), dims.end()), false);
      dy = node.binary<DivOp>(dy, total);
    } else {
      dy = node.binary<DivOp>(dy, static_cast<double>(type.getNumElements()));
    }
  }
  Value each = reduction == "none"
                   ? dy
                   : broadcastTo(node.b, node.loc, node.reshape(dy, {}),
                                 type.getShape(), {});
  return weights ? node.binary<MulOp>(each, weights) : each;
}

/// Inputs: the gradient of the loss, the logarithms of the probabilities, and
/// the labels.
static LogicalResult importCrossEntropyGradient(Node &node,
                                                CrossEntropyGradient grad) {
  if (failed(node.requireFloat(1)))
    return failure();
  ArrayRef<int64_t> scores = node.shape(1);
  Shape wanted(scores.take_front(1));
  llvm::append_range(wanted,
                     scores.drop_front(std::min<size_t>(scores.size(), 2)));
  if (scores.size() < 2 || !llvm::equal(node.shape(2), wanted))
    return node.malformed("labels " + shapeText(node.shape(2)) +
                          " for scores " + shapeText(scores));
  if (grad.weights && (tensorType(grad.weights).getRank() != 1 ||
                       tensorType(grad.weights).getDimSize(0) != scores[1]))
    return node.malformed("weights " +
                          shapeText(tensorType(grad.weights).getShape()) +
                          " for " + Twine(scores[1]) + " classes");
  // The scores themselves, or, with a sum of exponentials of 1, their
  // logarithms of probabilities.
  Value logits = node.in(1);
  if (auto op = logits.getDefiningOp<LogSoftmaxOp>(); op && op.getDim() == 1)
    logits = op.getOperand();
  Value labels = node.cast(node.in(2), node.b.getI64Type());
  int64_t ignored = grad.ignored.value_or(std::numeric_limits<int64_t>::min());
  RankedTensorType type =
      withElement(tensorType(labels), node.type(1).getElementType());
  auto op = findUser<CrossEntropyOp>(logits, [&](CrossEntropyOp op) {
    return op.getLabels() == labels && op.getDim() == 1 &&
           op.getIgnoreIndex() == ignored;
  });
  if (!op)
    op = CrossEntropyOp::create(node.b, node.loc, TypeRange{type, type}, logits,
                                labels, 1, ignored);
  FailureOr<Value> cotangent = cotangentOfLosses(node, labels, type, grad);
  if (failed(cotangent) ||
      failed(setGradients(node, op, {*cotangent, Value()}, {0})))
    return failure();
  if (grad.summand) {
    Value sum = node.getResults()[0].value;
    if (!llvm::equal(tensorType(grad.summand).getShape(),
                     tensorType(sum).getShape()))
      grad.summand = node.reshape(grad.summand, tensorType(sum).getShape());
    node.set(0, node.binary<AddOp>(sum, grad.summand));
  }
  return success();
}

/// Returns whether an optional summand has as many elements as the scores.
static LogicalResult checkSummand(Node &node, size_t i) {
  if (node.has(i) &&
      node.type(i).getNumElements() != node.type(1).getNumElements())
    return node.malformed("input " + Twine(i) + " of shape " +
                          shapeText(node.shape(i)) + " for scores " +
                          shapeText(node.shape(1)));
  return success();
}

static LogicalResult importSoftmaxCrossEntropyLossGrad(Node &node) {
  CrossEntropyGradient grad{node.in(3), node.in(4), std::nullopt};
  if (node.hasAttr("ignore_index"))
    grad.ignored = node.intAttr("ignore_index", -1);
  if (failed(checkSummand(node, 4)))
    return failure();
  return importCrossEntropyGradient(node, grad);
}

static LogicalResult importSoftmaxCrossEntropyLossInternalGrad(Node &node) {
  CrossEntropyGradient grad{node.in(3), node.in(5), std::nullopt};
  if (node.has(4)) {
    FailureOr<double> ignored = node.constantScalar(4, "ignore_index");
    if (failed(ignored))
      return failure();
    grad.ignored = static_cast<int64_t>(*ignored);
  }
  if (failed(checkSummand(node, 5)))
    return failure();
  return importCrossEntropyGradient(node, grad);
}

void onnx_import::registerLossGradients(Registry &registry) {
  registry.add("com.microsoft::SoftmaxCrossEntropyLossGrad",
               importSoftmaxCrossEntropyLossGrad);
  registry.add("com.microsoft::SoftmaxCrossEntropyLossInternalGrad",
               importSoftmaxCrossEntropyLossInternalGrad);
}
