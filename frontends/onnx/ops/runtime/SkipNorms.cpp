// SPDX-License-Identifier: Apache-2.0

// Normalizations of sums: of a residual connection, or of embeddings.

#include "frontends/onnx/ops/runtime/Compose.h"
#include "frontends/onnx/ops/runtime/Runtime.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Normalizes x over its last dimension, and sets the results of the node from
/// number `first` on: the norm's, and its statistics where `statistics` says.
LogicalResult normalize(Node &node, Value x, Value scale, Value bias,
                        bool isSimplified, bool statistics) {
  RankedTensorType type = tensorType(x);
  int64_t last = type.getRank() - 1;
  Type element = type.getElementType();
  auto fits = [&](Value value) {
    return !value || (tensorType(value).getRank() == 1 &&
                      tensorType(value).getDimSize(0) == type.getDimSize(last));
  };
  if (last < 0 || !scale || !fits(scale) || !fits(bias))
    return node.malformed("scale or bias do not fit shape " +
                          shapeText(type.getShape()));
  scale = node.cast(scale, element);
  if (bias)
    bias = node.cast(bias, element);
  llvm::APFloat epsilon(node.floatAttr("epsilon", 1e-12F));
  RankedTensorType statistic = dropDims(type, {last});
  Shape kept(type.getShape());
  kept[last] = 1;
  if (isSimplified) {
    auto op = RmsNormOp::create(node.b, node.loc, TypeRange{type, statistic}, x,
                                scale, last, epsilon);
    node.set(0, op.getResult());
    if (statistics)
      node.set(2, node.reshape(op.getRstd(), kept));
    return success();
  }
  auto op = LayerNormOp::create(node.b, node.loc,
                                TypeRange{type, statistic, statistic}, x, scale,
                                bias, last, epsilon);
  node.set(0, op.getResult());
  if (statistics) {
    node.set(1, node.reshape(op.getMean(), kept));
    node.set(2, node.reshape(op.getRstd(), kept));
  }
  return success();
}

/// Imports the norm of x + skip + bias; the sum is the last result.
LogicalResult importSkipNorm(Node &node, size_t bias, bool isSimplified) {
  if (failed(node.requireFloat(0)))
    return failure();
  FailureOr<Value> sum = addInput(node, node.in(0), 1);
  if (succeeded(sum))
    sum = addInput(node, *sum, bias);
  if (failed(sum))
    return failure();
  node.set(3, *sum);
  return normalize(node, *sum, node.in(2), isSimplified ? Value() : node.in(3),
                   isSimplified, /*statistics=*/true);
}

LogicalResult importSkipLayerNormalization(Node &node) {
  return importSkipNorm(node, /*bias=*/4, /*isSimplified=*/false);
}

LogicalResult importSkipSimplified(Node &node) {
  return importSkipNorm(node, /*bias=*/3, /*isSimplified=*/true);
}

/// Inputs: words, segments, three tables of embeddings, scale, bias, a mask and
/// positions. Results: the norm of the sum of embeddings, the number of words
/// that the mask keeps, and the sum.
LogicalResult importEmbedLayerNormalization(Node &node) {
  constexpr size_t kWords = 0, kSegments = 1, kWordTable = 2, kPlaceTable = 3,
                   kSegmentTable = 4, kScale = 5, kBias = 6, kMask = 7,
                   kPlaces = 8;
  for (size_t i : {kWordTable, kPlaceTable, kScale})
    if (!node.has(i))
      return node.malformed("input " + Twine(i) + " is missing");
  if (node.rank(kWords) != 2 || node.rank(kWordTable) != 2 ||
      node.rank(kPlaceTable) != 2)
    return node.malformed("words or tables are not matrices");
  int64_t batch = node.shape(kWords)[0], length = node.shape(kWords)[1];
  auto gather = [&](Value table, Value indices) -> FailureOr<Value> {
    FailureOr<SmallVector<Value>> rows = Standard("Gather")
                                             .set("axis", int64_t(0))
                                             .import(node, {table, indices});
    if (failed(rows))
      return failure();
    return rows->front();
  };
  FailureOr<Value> sum = gather(node.in(kWordTable), node.in(kWords));
  if (failed(sum))
    return failure();
  auto add = [&](FailureOr<Value> part) -> LogicalResult {
    if (failed(part))
      return failure();
    Value lhs = *sum, rhs = *part;
    if (failed(node.broadcastBoth(lhs, rhs)))
      return failure();
    sum = node.binary<AddOp>(lhs, rhs);
    return success();
  };
  if (!node.has(kPlaces) && node.shape(kPlaceTable)[0] < length)
    return node.malformed(Twine(node.shape(kPlaceTable)[0]) +
                          " embeddings of positions for " + Twine(length) +
                          " words");
  if (failed(add(node.has(kPlaces)
                     ? gather(node.in(kPlaceTable), node.in(kPlaces))
                     : FailureOr<Value>(
                           node.sliceDim(node.in(kPlaceTable), 0, 0, length)))))
    return failure();
  if (node.has(kSegments) && node.has(kSegmentTable) &&
      failed(add(gather(node.in(kSegmentTable), node.in(kSegments)))))
    return failure();
  Type i32 = node.b.getI32Type();
  auto counts = RankedTensorType::get({batch}, i32);
  if (node.has(kMask)) {
    Value kept =
        node.cast(node.compare(Predicate::EQ, node.in(kMask), 1.0), i32);
    node.set(1, node.reduce(ReductionKind::Sum, kept, {1}, /*keep=*/false));
  } else {
    node.set(1, splat(node.b, node.loc, counts, 0.0));
  }
  node.set(2, *sum);
  return normalize(node, *sum, node.in(kScale), node.in(kBias),
                   /*isSimplified=*/false, /*statistics=*/false);
}

/// Imports GroupNorm, of x or of x + skip + bias, with or without SiLU; its
/// channels come last unless it says otherwise.
LogicalResult importGroupNorm(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  Value x = node.in(0);
  int64_t groups = node.intAttr("groups", 0);
  bool channelsLast = node.intAttr("channels_last", 1);
  if (node.rank(0) != 4)
    return node.malformed("shape " + shapeText(node.shape(0)));
  auto toFirst = [&](Value value) {
    return channelsLast ? node.transpose(value, {0, 3, 1, 2}) : value;
  };
  auto toLast = [&](Value value) {
    return channelsLast ? node.transpose(value, {0, 2, 3, 1}) : value;
  };
  x = toFirst(x);
  Shape shape(tensorType(x).getShape());
  if (node.has(3)) {
    Value skip = node.in(3);
    if (node.rank(3) == 2 && node.shape(3) == ArrayRef(shape).take_front(2))
      skip = node.reshape(skip, {shape[0], shape[1], 1, 1});
    else if (node.rank(3) == 4)
      skip = toFirst(skip);
    Value sum = x;
    if (failed(node.broadcastBoth(sum, skip)))
      return failure();
    x = node.binary<AddOp>(sum, skip);
    if (node.has(4))
      x = node.binary<AddOp>(x, node.alongDim(node.in(4), shape, 1));
    node.set(1, toLast(x));
  }
  for (size_t i : {1, 2})
    if (node.rank(i) != 1 || node.shape(i)[0] != shape[1])
      return node.malformed("input " + Twine(i) +
                            " is not one value for each "
                            "of " +
                            Twine(shape[1]) + " channels");
  if (groups < 1 || shape[1] % groups)
    return node.malformed(Twine(groups) + " groups for " + Twine(shape[1]) +
                          " channels");
  Type element = tensorType(x).getElementType();
  Value rows = node.reshape(
      x, {shape[0], groups, shape[1] / groups * shape[2] * shape[3]});
  RankedTensorType rowType = tensorType(rows);
  RankedTensorType statistic = dropDims(rowType, {2});
  Value one =
      splat(node.b, node.loc,
            RankedTensorType::get({rowType.getDimSize(2)}, element), 1.0);
  Value normal = node.reshape(
      LayerNormOp::create(
          node.b, node.loc, TypeRange{rowType, statistic, statistic}, rows, one,
          Value(), 2, llvm::APFloat(node.floatAttr("epsilon", 1e-5)))
          .getResult(),
      shape);
  Value scaled = node.binary<MulOp>(
      normal, node.alongDim(node.cast(node.in(1), element), shape, 1));
  Value result = node.binary<AddOp>(
      scaled, node.alongDim(node.cast(node.in(2), element), shape, 1));
  if (node.intAttr("activation", 0))
    result = node.binary<MulOp>(result, node.unary<LogisticOp>(result));
  return node.result(toLast(result));
}

} // namespace

void onnx_import::registerSkipNorms(Registry &registry) {
  registry.add("com.microsoft::SkipLayerNormalization",
               importSkipLayerNormalization);
  registry.require("com.microsoft::SkipLayerNormalization", 3);
  registry.add("com.microsoft::SkipSimplifiedLayerNormalization",
               importSkipSimplified);
  registry.require("com.microsoft::SkipSimplifiedLayerNormalization", 3);
  registry.add("com.microsoft::GroupNorm", importGroupNorm);
  registry.require("com.microsoft::GroupNorm", 3);
  registry.add("com.microsoft::SkipGroupNorm", importGroupNorm);
  registry.require("com.microsoft::SkipGroupNorm", 4);
  // Segments may be missing among the first seven.
  registry.add("com.microsoft::EmbedLayerNormalization",
               importEmbedLayerNormalization);
  registry.require("com.microsoft::EmbedLayerNormalization", 1);
}
