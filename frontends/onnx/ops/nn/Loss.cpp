// SPDX-License-Identifier: Apache-2.0

// Losses that are part of a model.

#include "frontends/onnx/model/Node.h"
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Imports a cross entropy with classes in dimension 1 of the scores. Labels
/// equal to `ignore_index` do not count; `mean` divides by the weights of those
/// that do.
static LogicalResult importSoftmaxCrossEntropy(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  ArrayRef<int64_t> scores = node.shape(0);
  Shape wanted(scores.take_front(1));
  llvm::append_range(wanted,
                     scores.drop_front(std::min<size_t>(scores.size(), 2)));
  if (scores.size() < 2 || !llvm::equal(node.shape(1), wanted))
    return node.malformed("labels " + shapeText(node.shape(1)) +
                          " for scores " + shapeText(scores));
  std::string reduction = node.stringAttr("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return node.malformed("reduction is '" + reduction + "'");
  // Without an ignored label, the index is one that no tensor contains.
  int64_t ignored =
      node.intAttr("ignore_index", std::numeric_limits<int64_t>::min());
  Value labels = node.cast(node.in(1), node.b.getI64Type());
  RankedTensorType type =
      withElement(tensorType(labels), node.type(0).getElementType());
  auto op = CrossEntropyOp::create(node.b, node.loc, TypeRange{type, type},
                                   node.in(0), labels, 1, ignored);
  if (node.wants(1))
    node.set(
        1, LogSoftmaxOp::create(node.b, node.loc, node.type(0), node.in(0), 1));
  Value losses = op.getLosses();
  Value counts;
  if (node.hasAttr("ignore_index")) {
    Value used = node.compare(Predicate::NE, labels,
                              splat(node.b, node.loc, tensorType(labels),
                                    static_cast<double>(ignored)));
    counts = node.cast(used, type.getElementType());
  }
  if (node.has(2)) {
    if (node.rank(2) != 1 || node.shape(2)[0] != scores[1])
      return node.malformed("weights " + shapeText(node.shape(2)) + " for " +
                            Twine(scores[1]) + " classes");
    Value weights = GatherOp::create(
        node.b, node.loc, type, node.cast(node.in(2), type.getElementType()),
        labels, 0);
    counts = counts ? node.binary<MulOp>(counts, weights) : weights;
    losses = node.binary<MulOp>(losses, weights);
  }
  if (reduction == "none")
    return node.result(losses);
  auto dims = llvm::seq<int64_t>(0, type.getRank());
  Shape all(dims.begin(), dims.end());
  auto total = [&](Value value) {
    return node.reduce(ReductionKind::Sum, value, all, /*keep=*/false);
  };
  Value sum = total(losses);
  if (reduction == "sum")
    return node.result(sum);
  if (counts)
    return node.result(node.binary<DivOp>(sum, total(counts)));
  return node.result(
      node.binary<DivOp>(sum, static_cast<double>(type.getNumElements())));
}

void onnx_import::registerLoss(Registry &registry) {
  registry.add("SoftmaxCrossEntropyLoss", importSoftmaxCrossEntropy);
}
