// SPDX-License-Identifier: Apache-2.0

// The attentions of ONNX Runtime, by ONNX's Attention: with the projection of
// queries, keys and values, with biases of these, and with groups of queries.

#include "dialects/ingot/builders/Arithmetic.h"
#include "frontends/onnx/ops/runtime/Compose.h"
#include "frontends/onnx/ops/runtime/Runtime.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// The operands of an attention: [batch, sequence, elements of all heads], and
/// keys and values also [batch, heads, sequence, elements].
struct Operands {
  Value query, key, value, pastKey, pastValue;
  int64_t heads, keyHeads;

  int64_t batch() const { return tensorType(query).getDimSize(0); }
  int64_t queries() const { return tensorType(query).getDimSize(1); }
  int64_t keys() const {
    int64_t past = pastKey && tensorType(pastKey).getRank() == 4
                       ? tensorType(pastKey).getDimSize(2)
                       : 0;
    return past + tensorType(key).getDimSize(tensorType(key).getRank() - 2);
  }
};

/// Fails for inputs that only decoding step by step has.
LogicalResult refuseInputs(Node &node,
                           ArrayRef<std::pair<size_t, StringRef>> all) {
  for (auto [i, name] : all)
    if (node.has(i))
      return node.unsupported(name);
  return success();
}

/// Returns what a mask adds to scores: 0 where it is not 0, and the attribute
/// `mask_filter_value` elsewhere, [batch or 1, 1, queries or 1, keys]. A vector
/// counts the keys of each sample, or tells where they end and then where they
/// begin.
FailureOr<Value> readMask(Node &node, size_t i, const Operands &operands) {
  if (!node.has(i))
    return Value();
  int64_t batch = operands.batch(), keys = operands.keys();
  ArrayRef<int64_t> shape = node.shape(i);
  Value allowed;
  if (shape.size() == 1 && (shape[0] == batch || shape[0] == 2 * batch)) {
    Type i64 = node.b.getI64Type();
    Shape wide = {batch, keys};
    Value count = node.iota(wide, i64, 1);
    auto bound = [&](int64_t first) {
      Value part =
          node.sliceDim(node.cast(node.in(i), i64), 0, first, first + batch);
      return node.alongDim(part, wide, 0);
    };
    allowed = node.compare(Predicate::LT, count, bound(0));
    if (shape[0] == 2 * batch) {
      Value begun = node.compare(Predicate::GE, count, bound(batch));
      allowed =
          AndOp::create(node.b, node.loc, allowed.getType(), allowed, begun);
    }
    allowed = node.reshape(allowed, {batch, 1, 1, keys});
  } else {
    Shape four;
    if (shape.size() == 2)
      four = {shape[0], 1, 1, shape[1]};
    else if (shape.size() == 3)
      four = {shape[0], 1, shape[1], shape[2]};
    else
      return node.unsupported("a mask of shape " + shapeText(shape));
    if ((four[0] != batch && four[0] != 1) ||
        (four[2] != 1 && four[2] != operands.queries()) || four[3] != keys)
      return node.unsupported("a mask of shape " + shapeText(shape) +
                              " for a batch of " + Twine(batch) + ", " +
                              Twine(operands.queries()) + " queries and " +
                              Twine(keys) + " keys");
    Value mask = node.reshape(node.in(i), four);
    allowed = tensorType(mask).getElementType().isInteger(1)
                  ? mask
                  : node.compare(Predicate::NE, mask, 0.0);
  }
  auto type = withElement(tensorType(allowed),
                          tensorType(operands.query).getElementType());
  double filter = node.floatAttr("mask_filter_value", -10000.0);
  return node.select(allowed, splat(node.b, node.loc, type, 0.0),
                     splat(node.b, node.loc, type, filter));
}

/// Returns the sum of two terms of scores, either of which may be null.
FailureOr<Value> addTerms(Node &node, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  if (failed(node.broadcastBoth(x, y)))
    return failure();
  return node.binary<AddOp>(x, y);
}

/// Attributes that the operators below do not have alike.
struct Rules {
  bool isCausal = false;
  int64_t left = -1;
  double softcap = 0.0;
  /// The number of keys of each sample, i32 or i64; null if all count.
  Value lengths;
};

/// Imports the attention; results are the output and the keys and values that
/// are to be kept.
FailureOr<SmallVector<Value>> attend(Node &node, const Operands &operands,
                                     Value terms, const Rules &rules) {
  int64_t width = tensorType(operands.query).getDimSize(2);
  if (operands.heads < 1 || width % operands.heads)
    return node.malformed(Twine(operands.heads) + " heads for " + Twine(width) +
                          " elements");
  double scale = node.floatAttr("scale", 0.0);
  if (scale == 0.0)
    scale = 1.0 / std::sqrt(static_cast<double>(width / operands.heads));
  // ONNX's operator takes four dimensions of all operands, or three.
  auto split = [&](Value value, int64_t heads) -> FailureOr<Value> {
    ArrayRef<int64_t> shape = tensorType(value).getShape();
    if (shape.size() == 4)
      return value;
    if (shape.size() != 3 || heads < 1 || shape[2] % heads)
      return node.malformed("an operand of shape " + shapeText(shape) +
                            " with " + Twine(heads) + " heads");
    return node.transpose(
        node.reshape(value, {shape[0], shape[1], heads, shape[2] / heads}),
        {0, 2, 1, 3});
  };
  FailureOr<Value> q = split(operands.query, operands.heads),
                   k = split(operands.key, operands.keyHeads),
                   v = split(operands.value, operands.keyHeads);
  if (failed(q) || failed(k) || failed(v))
    return failure();
  Standard attention("Attention", 3);
  attention.set("scale", scale)
      .set("is_causal", int64_t(rules.isCausal))
      .set("left_window_size", rules.left)
      .set("softcap", rules.softcap);
  FailureOr<SmallVector<Value>> results =
      attention.import(node, {*q, *k, *v, terms, operands.pastKey,
                              operands.pastValue, rules.lengths});
  if (failed(results))
    return failure();
  Value heads = node.transpose(results->front(), {0, 2, 1, 3});
  ArrayRef<int64_t> shape = tensorType(heads).getShape();
  results->front() =
      node.reshape(heads, {shape[0], shape[1], shape[2] * shape[3]});
  return results;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Inputs: the operand, the weights and the bias of its projection, a mask,
/// past keys and values, and what is added to scores.
LogicalResult importAttention(Node &node) {
  if (failed(node.requireFloat(0)) ||
      failed(refuseInputs(node, {{6, "past_sequence_length"}})))
    return failure();
  if (node.intAttr("do_rotary", 0))
    return node.unsupported("do_rotary");
  if (node.rank(0) != 3 || node.rank(1) != 2)
    return node.malformed("shapes " + shapeText(node.shape(0)) + " and " +
                          shapeText(node.shape(1)));
  int64_t width = node.shape(1)[1];
  Shape sizes = node.intsAttr("qkv_hidden_sizes")
                    .value_or(Shape{width / 3, width / 3, width / 3});
  if (sizes.size() != 3 ||
      llvm::any_of(sizes, [](int64_t s) { return s < 1; }) ||
      sizes[0] != sizes[1] || sizes[0] + sizes[1] + sizes[2] != width)
    return node.malformed("sizes " + shapeText(sizes) + " of " + Twine(width) +
                          " elements");
  FailureOr<Value> packed = node.matmul(node.in(0), node.in(1));
  if (succeeded(packed))
    packed = addInput(node, *packed, 2);
  if (failed(packed))
    return failure();
  Operands operands;
  operands.heads = operands.keyHeads = node.intAttr("num_heads", 0);
  operands.query = node.sliceDim(*packed, 2, 0, sizes[0]);
  operands.key = node.sliceDim(*packed, 2, sizes[0], 2 * sizes[0]);
  operands.value = node.sliceDim(*packed, 2, 2 * sizes[0], width);
  if (node.has(4)) {
    if (node.rank(4) != 5 || node.shape(4)[0] != 2)
      return node.malformed("past of shape " + shapeText(node.shape(4)));
    auto half = [&](int64_t i) {
      return node.reshape(node.sliceDim(node.in(4), 0, i, i + 1),
                          node.shape(4).drop_front());
    };
    operands.pastKey = half(0);
    operands.pastValue = half(1);
  }
  Rules rules;
  rules.isCausal = node.intAttr("unidirectional", 0);
  FailureOr<Value> terms = readMask(node, 3, operands);
  if (succeeded(terms))
    terms = addTerms(node, *terms, node.in(5));
  if (failed(terms))
    return failure();
  FailureOr<SmallVector<Value>> results = attend(node, operands, *terms, rules);
  if (failed(results))
    return failure();
  node.set(0, results->front());
  if (node.wants(1)) {
    Shape one(tensorType((*results)[1]).getShape());
    one.insert(one.begin(), 1);
    if ((*results)[1].getType() != (*results)[2].getType())
      return node.unsupported("present with keys and values of other sizes");
    node.set(1, node.concat({node.reshape((*results)[1], one),
                             node.reshape((*results)[2], one)},
                            0));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Returns part `i` of [batch, sequence, heads, parts, size], as [batch,
/// sequence, heads * size].
Value partOf(Node &node, Value packed, int64_t i) {
  ArrayRef<int64_t> shape = tensorType(packed).getShape();
  return node.reshape(node.sliceDim(packed, 3, i, i + 1),
                      {shape[0], shape[1], shape[2] * shape[4]});
}

/// Reads queries, keys and values, which may be packed in one input.
LogicalResult readPacked(Node &node, Operands &operands) {
  auto isPacked = [&](size_t i, int64_t parts) {
    return node.has(i) && node.rank(i) == 5 && node.shape(i)[3] == parts;
  };
  if (isPacked(0, 3) && !node.has(1) && !node.has(2)) {
    operands.query = partOf(node, node.in(0), 0);
    operands.key = partOf(node, node.in(0), 1);
    operands.value = partOf(node, node.in(0), 2);
    return success();
  }
  operands.query = node.in(0);
  if (isPacked(1, 2) && !node.has(2)) {
    operands.key = partOf(node, node.in(1), 0);
    operands.value = partOf(node, node.in(1), 1);
  } else {
    operands.key = node.in(1);
    operands.value = node.in(2);
  }
  auto hasRank = [](Value value, int64_t least, int64_t most) {
    int64_t rank = value ? tensorType(value).getRank() : 0;
    return rank >= least && rank <= most;
  };
  if (!hasRank(operands.query, 3, 3) || !hasRank(operands.key, 3, 4) ||
      !hasRank(operands.value, 3, 4))
    return node.malformed("queries, keys and values of these shapes");
  return success();
}

/// Adds the biases of queries, keys and values, which are one vector.
LogicalResult addBiases(Node &node, size_t i, Operands &operands) {
  if (!node.has(i))
    return success();
  int64_t first = 0;
  for (Value *operand : {&operands.query, &operands.key, &operands.value}) {
    RankedTensorType type = tensorType(*operand);
    // Keys and values of four dimensions were computed before.
    bool isSplit = type.getRank() == 4;
    int64_t width = type.getShape().back() * (isSplit ? type.getDimSize(1) : 1);
    if (node.rank(i) != 1 || node.shape(i)[0] < first + width)
      return node.malformed("biases of shape " + shapeText(node.shape(i)));
    if (!isSplit)
      *operand = node.binary<AddOp>(
          *operand,
          node.alongDim(node.sliceDim(node.in(i), 0, first, first + width),
                        type.getShape(), 2));
    first += width;
  }
  return success();
}

LogicalResult importMultiHeadAttention(Node &node) {
  if (failed(node.requireFloat(0)) ||
      failed(refuseInputs(
          node, {{8, "past_sequence_length"}, {9, "cache_indirection"}})))
    return failure();
  Operands operands;
  operands.heads = operands.keyHeads = node.intAttr("num_heads", 0);
  if (failed(readPacked(node, operands)) ||
      failed(addBiases(node, 3, operands)))
    return failure();
  operands.pastKey = node.in(6);
  operands.pastValue = node.in(7);
  FailureOr<Value> terms = readMask(node, 4, operands);
  if (succeeded(terms))
    terms = addTerms(node, *terms, node.in(5));
  if (failed(terms))
    return failure();
  if (node.wants(3))
    return node.unsupported("the output qk");
  Rules rules;
  rules.isCausal = node.intAttr("unidirectional", 0);
  FailureOr<SmallVector<Value>> results = attend(node, operands, *terms, rules);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    node.set(i, result);
  return success();
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

/// Imports the attention of a prompt: without keys of earlier calls.
LogicalResult importGroupQueryAttention(Node &node) {
  if (failed(node.requireFloat(0)) ||
      failed(refuseInputs(node, {{11, "head_sink"},
                                 {12, "k_scale"},
                                 {13, "v_scale"},
                                 {14, "q_norm_weight"},
                                 {15, "k_norm_weight"}})))
    return failure();
  for (size_t i : {3, 4})
    if (node.has(i) && node.type(i).getNumElements())
      return node.unsupported("past of shape " + shapeText(node.shape(i)));
  if (node.intAttr("smooth_softmax", -1) > 0 || node.intAttr("qk_output", 0) ||
      node.wants(3))
    return node.unsupported("smooth_softmax or qk_output");
  Operands operands;
  operands.heads = node.intAttr("num_heads", 0);
  operands.keyHeads = node.intAttr("kv_num_heads", 0);
  if (node.rank(0) != 3 || operands.heads < 1 || operands.keyHeads < 1)
    return node.malformed("queries of shape " + shapeText(node.shape(0)));
  operands.query = node.in(0);
  operands.key = node.in(1);
  operands.value = node.in(2);
  if (!operands.key) {
    int64_t all = operands.heads + 2 * operands.keyHeads;
    int64_t size = node.shape(0)[2] / all;
    if (node.shape(0)[2] % all)
      return node.malformed("queries, keys and values of shape " +
                            shapeText(node.shape(0)));
    int64_t keys = operands.heads * size;
    int64_t values = keys + operands.keyHeads * size;
    operands.query = node.sliceDim(node.in(0), 2, 0, keys);
    operands.key = node.sliceDim(node.in(0), 2, keys, values);
    operands.value = node.sliceDim(node.in(0), 2, values, node.shape(0)[2]);
  }
  int64_t batch = operands.batch(), queries = operands.queries();
  if (!operands.value || operands.keys() != queries ||
      tensorType(operands.key).getRank() != 3)
    return node.malformed("keys and values do not fit the queries");
  if (node.intAttr("do_rotary", 0)) {
    if (!node.has(7) || !node.has(8) || node.rank(7) != 2 || node.rank(8) != 2)
      return node.malformed("no caches of angles");
    Value positions =
        node.has(9) ? node.in(9) : countPositions(node, batch, queries);
    for (auto [operand, heads] :
         {std::pair(&operands.query, operands.heads),
          std::pair(&operands.key, operands.keyHeads)}) {
      Shape shape(tensorType(*operand).getShape());
      if (shape[2] % heads)
        return node.malformed("queries or keys of shape " + shapeText(shape));
      FailureOr<Value> turned = rotate(
          node,
          node.reshape(*operand, {batch, queries, heads, shape[2] / heads}),
          node.in(7), node.in(8), positions,
          node.intAttr("rotary_interleaved", 0));
      if (failed(turned))
        return failure();
      *operand = node.reshape(*turned, shape);
    }
  }
  Rules rules;
  // The ends of samples, which seqlens_k has, are not followed: causality hides
  // keys from the queries that count.
  rules.isCausal = node.intAttr("causal", 1);
  if (!rules.isCausal)
    return node.unsupported("causal=0");
  // A window counts the query's own key.
  if (int64_t window = node.intAttr("local_window_size", -1); window > 0)
    rules.left = window - 1;
  rules.softcap = node.floatAttr("softcap", 0.0);
  FailureOr<SmallVector<Value>> results =
      attend(node, operands, node.in(10), rules);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    node.set(i, result);
  return success();
}

} // namespace

void onnx_import::registerRuntimeAttention(Registry &registry) {
  registry.add("com.microsoft::Attention", importAttention);
  registry.require("com.microsoft::Attention", 2);
  registry.add("com.microsoft::MultiHeadAttention", importMultiHeadAttention);
  registry.require("com.microsoft::MultiHeadAttention", 1);
  registry.add("com.microsoft::GroupQueryAttention", importGroupQueryAttention);
  registry.require("com.microsoft::GroupQueryAttention", 1);
}
