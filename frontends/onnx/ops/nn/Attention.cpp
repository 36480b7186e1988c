// SPDX-License-Identifier: Apache-2.0

// Scaled dot-product attention.

#include "dialects/ingot/attention/PlainAttention.h"
#include "frontends/onnx/model/Node.h"
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
/// dimensions and all keys. Keys beyond its end are hidden.
FailureOr<Value> readMask(Node &node, Value mask, ArrayRef<int64_t> scores) {
  Shape shape(tensorType(mask).getShape());
  if (!shape.empty() && shape.back() < scores[3] && shape.back() > 1) {
    Shape low(shape.size(), 0), high(low);
    high.back() = scores[3] - shape.back();
    bool hides = tensorType(mask).getElementType().isInteger(1);
    mask = node.pad(mask, low, high,
                    hides ? 0.0 : -std::numeric_limits<double>::infinity());
    shape.back() = scores[3];
  }
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

/// Returns keys or values [batch, keys, heads, size] after those of a cache
/// [batch, heads, keys, size].
FailureOr<Value> withPast(Node &node, size_t i, Value value) {
  if (!node.has(i))
    return value;
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  if (node.rank(i) != 4 || node.shape(i)[0] != shape[0] ||
      node.shape(i)[1] != shape[2] || node.shape(i)[3] != shape[3] ||
      node.type(i).getElementType() != tensorType(value).getElementType())
    return node.malformed("a cache of shape " + shapeText(node.shape(i)) +
                          " for keys or values of shape " + shapeText(shape));
  return node.concat({node.transpose(node.in(i), {0, 2, 1, 3}), value}, 1);
}

/// Builds the output of the matmul of queries and keys: its values in one of
/// the stages up to the softmax.
FailureOr<Value> importScores(Node &node, const AttentionSizes &sizes,
                              const AttentionTerms &terms, Value q, Value k,
                              Value v, double scale) {
  int64_t stage = node.intAttr("qk_matmul_output_mode", 0);
  if (stage < 0 || stage > 3)
    return node.malformed("qk_matmul_output_mode " + Twine(stage));
  double softcap = node.floatAttr("softcap", 0.0);
  Type element = node.type(0).getElementType();
  if (stage == 3) {
    PlainAttention plain(node.b, node.loc, q, k, v, terms, scale, softcap);
    return node.cast(plain.weights(), element);
  }
  Arithmetic a(node.b, node.loc);
  Shape shape = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  int64_t group = sizes.heads / sizes.keyHeads;
  Shape wide = {sizes.batch, sizes.keys, sizes.keyHeads, group, sizes.size};
  Value keys = node.reshape(broadcastOver(node.b, node.loc, k, wide, {3}),
                            {sizes.batch, sizes.keys, sizes.heads, sizes.size});
  FailureOr<Value> product = node.matmul(node.transpose(q, {0, 2, 1, 3}),
                                         node.transpose(keys, {0, 2, 3, 1}));
  if (failed(product))
    return failure();
  Value scores = a.mul(*product, scale);
  if (stage >= 1 && softcap != 0.0)
    scores = a.mul(node.unary<TanhOp>(a.div(scores, softcap)), softcap);
  if (stage < 2)
    return scores;
  double hidden = -std::numeric_limits<double>::infinity();
  auto spread = [&](Value value) {
    return a.broadcast(value, shape, {0, 1, 2, 3});
  };
  if (terms.bias)
    scores = a.add(scores, spread(terms.bias));
  if (terms.mask)
    scores = a.select(spread(terms.mask), scores, hidden);
  if (terms.lengths)
    scores = a.select(
        spread(emitWithinLengths(node.b, node.loc, sizes, terms.lengths)),
        scores, hidden);
  auto type = RankedTensorType::get(shape, node.b.getI64Type());
  Value ahead = a.sub(a.iota(type, 3), a.iota(type, 2));
  if (terms.right >= 0)
    scores = a.select(
        a.compare(Predicate::LE, ahead, static_cast<double>(terms.right)),
        scores, hidden);
  if (terms.left >= 0)
    scores = a.select(
        a.compare(Predicate::GE, ahead, -static_cast<double>(terms.left)),
        scores, hidden);
  return scores;
}

LogicalResult importAttention(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  // The softmax has at least the precision of fp32.
  if (node.intAttr("softmax_precision", 1) == onnx::TensorProto::DOUBLE &&
      !node.type(0).getElementType().isF64())
    return node.unsupported("softmax_precision of double");
  bool flat = node.rank(0) == 3;
  int64_t queryHeads = node.intAttr("q_num_heads", 0);
  int64_t keyHeads = node.intAttr("kv_num_heads", 0);
  FailureOr<Value> q = splitHeads(node, 0, queryHeads),
                   k = splitHeads(node, 1, keyHeads),
                   v = splitHeads(node, 2, keyHeads);
  if (failed(q) || failed(k) || failed(v))
    return failure();
  int64_t past = node.has(4) && node.rank(4) == 4 ? node.shape(4)[2] : 0;
  k = withPast(node, 4, *k);
  if (failed(k))
    return failure();
  v = withPast(node, 5, *v);
  if (failed(v))
    return failure();
  if (node.wants(1))
    node.set(1, node.transpose(*k, {0, 2, 1, 3}));
  if (node.wants(2))
    node.set(2, node.transpose(*v, {0, 2, 1, 3}));
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
  auto hideBeyond = [&](Value ends) {
    Arithmetic a(node.b, node.loc);
    Value bounds = boundAtLengths(node, ends, sizes, left, right);
    if (mask) {
      Shape shape = commonShape({mask, bounds});
      mask = a.logicalAnd(a.broadcast(mask, shape, {0, 1, 2, 3}),
                          a.broadcast(bounds, shape, {0, 1, 2, 3}));
    } else {
      mask = bounds;
    }
    left = right = -1;
  };
  // Queries follow the keys of the cache.
  if (past > 0 && (left >= 0 || right >= 0))
    hideBeyond(splat(node.b, node.loc,
                     RankedTensorType::get({sizes.batch}, node.b.getI64Type()),
                     static_cast<double>(past + sizes.queries)));
  if (node.has(6)) {
    if (node.shape(6) != ArrayRef<int64_t>{sizes.batch})
      return node.malformed("numbers of keys of shape " +
                            shapeText(node.shape(6)) + " for a batch of " +
                            Twine(sizes.batch));
    Arithmetic a(node.b, node.loc);
    if (left >= 0 || right >= 0)
      hideBeyond(node.in(6));
    lengths = clampLengths(a, node.in(6), sizes.keys);
  }
  double scale =
      node.floatAttr("scale", 1.0 / std::sqrt(static_cast<double>(sizes.size)));
  Type element = node.type(0).getElementType();
  if (node.wants(3)) {
    AttentionTerms terms{bias,    mask,    lengths, left, right,
                         Value(), Value(), 0.0,     0};
    FailureOr<Value> scores =
        importScores(node, sizes, terms, *q, *k, *v, scale);
    if (failed(scores))
      return failure();
    node.set(3, *scores);
  }
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
