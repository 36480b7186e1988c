// Scaled dot-product attention, taken apart into products and a softmax.

#include "frontends/onnx/Node.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// [batch, sequence, heads * size] as [batch, heads, sequence, size].
FailureOr<Value> splitHeads(Node &node, size_t i, int64_t heads) {
  ArrayRef<int64_t> shape = node.shape(i);
  if (node.rank(i) == 4)
    return node.in(i);
  if (node.rank(i) != 3 || heads < 1 || shape[2] % heads)
    return node.malformed("input " + Twine(i) + " of shape " +
                          shapeText(shape) + " with " + Twine(heads) +
                          " heads");
  return node.transpose(
      node.reshape(node.in(i), {shape[0], shape[1], heads, shape[2] / heads}),
      {0, 2, 1, 3});
}

/// Key and value heads shared by several query heads are repeated.
FailureOr<Value> repeatHeads(Node &node, Value value, int64_t heads) {
  Shape shape(tensorType(value).getShape());
  if (shape[1] == heads)
    return value;
  if (shape[1] < 1 || heads % shape[1])
    return node.malformed(Twine(shape[1]) + " key heads for " + Twine(heads) +
                          " query heads");
  Value wide = broadcastTo(
      node.b, node.loc, value,
      {shape[0], shape[1], heads / shape[1], shape[2], shape[3]}, {0, 1, 3, 4});
  return node.reshape(wide, {shape[0], heads, shape[2], shape[3]});
}

/// Where a query may look: no further than its own position for `is_causal`,
/// and within the window. Null if everywhere.
Value visible(Node &node, int64_t queries, int64_t keys) {
  Shape square = {queries, keys};
  Type i64 = node.b.getI64Type();
  Value result;
  auto require = [&](Predicate predicate, int64_t bound) {
    Value ahead = node.binary<SubOp>(node.iota(square, i64, 1),
                                     node.iota(square, i64, 0));
    Value holds = node.compare(predicate, ahead, static_cast<double>(bound));
    result = result ? node.binary<AndOp>(result, holds) : holds;
  };
  if (node.intAttr("is_causal", 0))
    require(Predicate::LE, 0);
  if (int64_t right = node.intAttr("right_window_size", -1); right >= 0)
    require(Predicate::LE, right);
  if (int64_t left = node.intAttr("left_window_size", -1); left >= 0)
    require(Predicate::GE, -left);
  return result;
}

LogicalResult importAttention(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.has(4) || node.has(5) || node.has(6))
    return node.unsupported("a cache of keys and values");
  if (node.wants(3))
    return node.unsupported("the output of the product of queries and keys");
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
  node.set(1, *k);
  node.set(2, *v);
  if (tensorType(*q).getRank() != 4)
    return node.malformed("queries of shape " + shapeText(node.shape(0)));
  Shape qs(tensorType(*q).getShape());
  k = repeatHeads(node, *k, qs[1]);
  v = repeatHeads(node, *v, qs[1]);
  if (failed(k) || failed(v))
    return failure();

  double scale =
      node.floatAttr("scale", 1.0 / std::sqrt(static_cast<double>(qs[3])));
  FailureOr<Value> product = node.matmul(*q, node.transpose(*k, {0, 1, 3, 2}));
  if (failed(product))
    return failure();
  Value scores = node.binary<MulOp>(*product, scale);
  if (double cap = node.floatAttr("softcap", 0.0); cap > 0.0)
    scores = node.binary<MulOp>(
        node.unary<TanhOp>(node.binary<DivOp>(scores, cap)), cap);

  ArrayRef<int64_t> shape = tensorType(scores).getShape();
  Value allowed = visible(node, shape[2], shape[3]);
  if (allowed)
    allowed = node.broadcast(allowed, shape);
  if (node.has(3)) {
    FailureOr<Shape> common = node.broadcastShape({scores, node.in(3)});
    if (failed(common))
      return failure();
    if (!llvm::equal(*common, shape))
      return node.unsupported("a mask of shape " + shapeText(node.shape(3)) +
                              " for scores of shape " + shapeText(shape));
    Value mask = node.broadcast(node.in(3), shape);
    if (node.type(3).getElementType().isInteger(1))
      allowed = allowed ? node.binary<AndOp>(allowed, mask) : mask;
    else
      scores = node.binary<AddOp>(
          scores, node.cast(mask, node.type(0).getElementType()));
  }
  // The lowest finite value: a row that may look nowhere stays finite.
  if (allowed)
    scores = node.select(
        allowed, scores,
        node.splatOf(scores, llvm::APFloat::getLargest(
                                 cast<FloatType>(node.type(0).getElementType())
                                     .getFloatSemantics(),
                                 /*Negative=*/true)
                                 .convertToDouble()));
  Value weights =
      SoftmaxOp::create(node.b, node.loc, scores.getType(), scores, 3);
  // A mask may leave a row nothing to look at: it is zero.
  if (allowed && (node.has(3) || node.intAttr("left_window_size", -1) >= 0))
    weights = node.select(allowed, weights, node.splatOf(weights, 0.0));
  FailureOr<Value> mixed = node.matmul(weights, *v);
  if (failed(mixed))
    return failure();
  if (!flat)
    return node.result(*mixed);
  Shape ms(tensorType(*mixed).getShape());
  return node.result(node.reshape(node.transpose(*mixed, {0, 2, 1, 3}),
                                  {ms[0], ms[2], ms[1] * ms[3]}));
}

} // namespace

void onnx_import::registerAttention(Registry &registry) {
  registry.add("Attention", importAttention);
}
