// SPDX-License-Identifier: Apache-2.0

// Scaled dot-product attention.

#include "dialects/ingot/attention/PlainAttention.h"
#include "frontends/onnx/import/Node.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Returns [batch, sequence, heads * size] or [batch, heads, sequence, size] as
/// [batch, sequence, heads, size].
FailureOr<Value> splitHeads(Node &node, size_t i, int64_t heads) {
  ArrayRef<int64_t> shape = node.shape(i);
  if (node.rank(i) == 4)
    return node.transpose(node.in(i), {0, 2, 1, 3});
  if (node.rank(i) != 3 || heads < 1 || shape[2] % heads)
    return node.malformed("input " + Twine(i) + " of shape " +
                          shapeText(shape) + " with " + Twine(heads) +
                          " heads");
  return node.reshape(node.in(i),
                      {shape[0], shape[1], heads, shape[2] / heads});
}

/// Returns a mask, whose shape broadcasts to that of the scores, with all four
/// dimensions and all keys.
FailureOr<Value> readMask(Node &node, Value mask, ArrayRef<int64_t> scores) {
  Shape shape(tensorType(mask).getShape());
  bool fits = shape.size() <= 4;
  if (fits)
    shape.insert(shape.begin(), 4 - shape.size(), 1);
  for (size_t i = 0; fits && i < 4; ++i)
    fits = shape[i] == 1 || shape[i] == scores[i];
  if (!fits)
    return node.unsupported("a mask of shape " + shapeText(node.shape(3)) +
                            " for scores of shape " + shapeText(scores));
  mask = node.reshape(mask, shape);
  shape[3] = scores[3];
  return node.broadcast(mask, shape);
}

/// Builds a mask of bounds around the diagonal that ends at the last key of a
/// sample, as the operator defines them where it is given key sequence lengths.
Value boundAtLengths(Node &node, Value lengths, const AttentionSizes &sizes,
                     int64_t left, int64_t right) {
  Arithmetic a(node.b, node.loc);
  Shape shape = {sizes.batch, 1, sizes.queries, sizes.keys};
  auto type = RankedTensorType::get(shape, node.b.getI64Type());
  Value ends = a.sub(lengths, static_cast<double>(sizes.queries));
  Value at = a.add(a.iota(type, 2), a.broadcast(ends, shape, {0}));
  Value ahead = a.sub(a.iota(type, 3), at), mask;
  if (right >= 0)
    mask = a.compare(Predicate::LE, ahead, static_cast<double>(right));
  if (left >= 0) {
    Value recent = a.compare(Predicate::GE, ahead, -static_cast<double>(left));
    mask = mask ? a.logicalAnd(mask, recent) : recent;
  }
  return mask;
}

LogicalResult importAttention(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.has(4) || node.has(5))
    return node.unsupported("a cache of keys and values");
  if (node.wants(3))
    return node.unsupported("the output of the matmul of queries and keys");
  if (node.hasAttr("softmax_precision") &&
      node.intAttr("softmax_precision", 1) != onnx::TensorProto::FLOAT)
    return node.unsupported("softmax_precision");
  bool flat = node.rank(0) == 3;
  int64_t queryHeads = node.intAttr("q_num_heads", 0);
  int64_t keyHeads = node.intAttr("kv_num_heads", 0);
  FailureOr<Value> q = splitHeads(node, 0, queryHeads),
                   k = splitHeads(node, 1, keyHeads),
                   v = splitHeads(node, 2, keyHeads);
  if (failed(q) || failed(k) || failed(v))
    return failure();
  AttentionSizes sizes = AttentionSizes::of(*q, *k, *v);
  if (sizes.keyHeads < 1 || sizes.heads % sizes.keyHeads)
    return node.malformed(Twine(sizes.keyHeads) + " key heads for " +
                          Twine(sizes.heads) + " query heads");
  Shape keyShape = {sizes.batch, sizes.keys, sizes.keyHeads, sizes.size};
  Shape valueShape = {sizes.batch, sizes.keys, sizes.keyHeads, sizes.valueSize};
  if (!llvm::equal(tensorType(*k).getShape(), keyShape) ||
      !llvm::equal(tensorType(*v).getShape(), valueShape))
    return node.malformed(
        "queries, keys and values of shapes " + shapeText(node.shape(0)) +
        ", " + shapeText(node.shape(1)) + " and " + shapeText(node.shape(2)));

  Shape scores = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  Value mask, bias;
  if (node.has(3)) {
    FailureOr<Value> read = readMask(node, node.in(3), scores);
    if (failed(read))
      return failure();
    bool hides = node.type(3).getElementType().isInteger(1);
    (hides ? mask : bias) =
        hides ? *read : node.cast(*read, node.type(0).getElementType());
  }
  int64_t left = node.intAttr("left_window_size", -1);
  int64_t right = node.intAttr("right_window_size", -1);
  if (node.intAttr("is_causal", 0))
    right = 0;
  Value lengths;
  if (node.has(6)) {
    if (node.shape(6) != ArrayRef<int64_t>{sizes.batch})
      return node.malformed("numbers of keys of shape " +
                            shapeText(node.shape(6)) + " for a batch of " +
                            Twine(sizes.batch));
    Arithmetic a(node.b, node.loc);
    if (left >= 0 || right >= 0) {
      Value bounds = boundAtLengths(node, node.in(6), sizes, left, right);
      if (mask) {
        Shape shape = commonShape({mask, bounds});
        mask = a.logicalAnd(a.broadcast(mask, shape, {0, 1, 2, 3}),
                            a.broadcast(bounds, shape, {0, 1, 2, 3}));
      } else {
        mask = bounds;
      }
      left = right = -1;
    }
    lengths = clampLengths(a, node.in(6), sizes.keys);
  }
  double scale =
      node.floatAttr("scale", 1.0 / std::sqrt(static_cast<double>(sizes.size)));
  Type element = node.type(0).getElementType();
  Shape resultShape = {sizes.batch, sizes.queries, sizes.heads,
                       sizes.valueSize};
  auto attention = AttentionOp::create(
      node.b, node.loc,
      TypeRange{RankedTensorType::get(resultShape, element),
                RankedTensorType::get({sizes.batch, sizes.heads, sizes.queries},
                                      computeElement(*q))},
      *q, *k, *v, bias, mask, lengths, /*seed=*/Value(), /*step=*/Value(),
      node.b.getF64FloatAttr(scale), node.b.getI64IntegerAttr(left),
      node.b.getI64IntegerAttr(right),
      node.b.getF64FloatAttr(node.floatAttr("softcap", 0.0)),
      node.b.getF64FloatAttr(0), node.b.getI32IntegerAttr(0));
  return node.result(
      flat
          ? node.reshape(attention.getResult(), {sizes.batch, sizes.queries,
                                                 sizes.heads * sizes.valueSize})
          : node.transpose(attention.getResult(), {0, 2, 1, 3}));
}

} // namespace

void onnx_import::registerAttention(Registry &registry) {
  registry.add("Attention", importAttention);
}
