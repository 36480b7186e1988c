// SPDX-License-Identifier: Apache-2.0

// Operators of models that carry a state along the tokens: linear attention,
// whose state is a matrix of each head, and the short convolution before it.

#include "frontends/onnx/model/Node.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// Steps that are unrolled at most.
constexpr int64_t kMaxSteps = 1 << 12;

struct LinearAttention {
  int64_t batch, steps, heads, group, keySize, valueSize;
  bool isGated, isDelta;
};

LogicalResult readLinearAttention(Node &node, LinearAttention &a) {
  for (size_t i : {0, 1, 2})
    if (failed(node.requireFloat(i)) || node.rank(i) != 3)
      return node.malformed("input " + Twine(i) + " is not of rank 3");
  int64_t queryHeads = node.intAttr("q_num_heads", 0);
  a.heads = node.intAttr("kv_num_heads", 0);
  ArrayRef<int64_t> q = node.shape(0), k = node.shape(1), v = node.shape(2);
  if (a.heads < 1 || queryHeads < 1 || queryHeads % a.heads ||
      q[2] % queryHeads || k[2] % a.heads || v[2] % a.heads ||
      q[2] / queryHeads != k[2] / a.heads || k.drop_back() != q.drop_back() ||
      v.drop_back() != q.drop_back())
    return node.malformed(Twine(queryHeads) + " query heads and " +
                          Twine(a.heads) + " key heads for a query " +
                          shapeText(q) + ", key " + shapeText(k) +
                          " and value " + shapeText(v));
  a.batch = q[0];
  a.steps = q[1];
  a.group = queryHeads / a.heads;
  a.keySize = k[2] / a.heads;
  a.valueSize = v[2] / a.heads;
  if (a.steps < 1 || a.steps > kMaxSteps)
    return node.unsupported("a sequence of " + Twine(a.steps) + " tokens");
  std::string rule = node.stringAttr("update_rule", "gated_delta");
  a.isGated = rule == "gated" || rule == "gated_delta";
  a.isDelta = rule == "delta" || rule == "gated_delta";
  if (!a.isGated && !a.isDelta && rule != "linear")
    return node.malformed("update_rule is '" + rule + "'");
  if (a.isGated && !node.has(4))
    return node.malformed("the rule '" + rule + "' needs a decay");
  if (a.isDelta && !node.has(5))
    return node.malformed("the rule '" + rule + "' needs a beta");
  return success();
}

/// Returns an input [batch, steps, heads * size] as [batch, steps, heads, size,
/// 1] or, `asRow`, [batch, steps, heads, 1, size], in at least fp32. A last
/// dimension of one applies to all heads.
FailureOr<Value> readTokens(Node &node, const LinearAttention &a, size_t i,
                            ArrayRef<int64_t> sizes, bool asRow) {
  ArrayRef<int64_t> shape = node.shape(i);
  auto fits = [&](int64_t size) { return shape.back() == a.heads * size; };
  if (shape.size() != 3 || shape[0] != a.batch || shape[1] != a.steps ||
      llvm::none_of(sizes, fits))
    return node.malformed("input " + Twine(i) + " has shape " +
                          shapeText(shape));
  Value x = node.in(i);
  if (node.type(i).getElementTypeBitWidth() < 32)
    x = node.cast(x, node.b.getF32Type());
  int64_t size = shape.back() / a.heads;
  Shape split = {a.batch, a.steps, a.heads, asRow ? 1 : size, asRow ? size : 1};
  return node.reshape(x, split);
}

/// Returns the values of one token, [batch, heads, rows, columns].
Value atToken(Node &node, Value tokens, int64_t t) {
  Value slice = node.sliceDim(tokens, 1, t, t + 1);
  Shape shape(tensorType(slice).getShape());
  shape.erase(shape.begin() + 1);
  return node.reshape(slice, shape);
}

/// Imports LinearAttention by its recurrence: the state decays, adds the outer
/// product of the key and an update, and is read by the query. The update is
/// the value or, by the delta rule, a part of how far the value is from what
/// the state has at the key ("Gated Delta Networks", arXiv 2412.06464).
LogicalResult importLinearAttention(Node &node) {
  LinearAttention a;
  if (failed(readLinearAttention(node, a)))
    return failure();
  Type element = node.type(0).getElementType();
  int64_t keys = a.keySize, values = a.valueSize;
  FailureOr<Value> query = readTokens(node, a, 0, {a.group * keys}, true),
                   key = readTokens(node, a, 1, {keys}, false),
                   value = readTokens(node, a, 2, {values}, true);
  if (failed(query) || failed(key) || failed(value))
    return failure();
  query = node.reshape(*query, {a.batch, a.steps, a.heads, a.group, keys});
  double scale = node.floatAttr("scale", 0.0);
  query =
      node.binary<MulOp>(*query, scale != 0.0 ? scale : 1.0 / std::sqrt(keys));
  Shape perHead = {a.batch, a.heads, keys, values};
  Type wide = tensorType(*query).getElementType();
  Value decay, beta;
  if (a.isGated) {
    FailureOr<Value> logarithms = readTokens(node, a, 4, {keys, 1}, false);
    if (failed(logarithms))
      return failure();
    decay = node.unary<ExpOp>(*logarithms);
  }
  if (a.isDelta) {
    // One rate may serve all heads.
    Value rates = node.in(5);
    Shape all = {a.batch, a.steps, a.heads};
    if (node.rank(5) != 3 ||
        (node.shape(5)[2] != 1 && node.shape(5)[2] != a.heads))
      return node.malformed("beta has shape " + shapeText(node.shape(5)));
    if (node.shape(5).drop_back() != ArrayRef(all).drop_back())
      return node.malformed("beta has shape " + shapeText(node.shape(5)));
    rates = node.cast(node.broadcast(rates, all), wide);
    beta = node.reshape(rates, {a.batch, a.steps, a.heads, 1, 1});
  }
  auto stateType = RankedTensorType::get(perHead, wide);
  Value state = splat(node.b, node.loc, stateType, 0.0);
  if (node.has(3)) {
    if (!llvm::equal(node.shape(3), perHead))
      return node.malformed("past_state has shape " + shapeText(node.shape(3)));
    state = node.cast(node.in(3), wide);
  }

  SmallVector<Value> outputs;
  Shape row = {a.batch, a.heads, 1, values};
  for (int64_t t = 0; t < a.steps; ++t) {
    Value k = atToken(node, *key, t), update = atToken(node, *value, t);
    if (decay)
      state = node.binary<MulOp>(
          state, node.broadcast(atToken(node, decay, t), perHead));
    if (a.isDelta) {
      FailureOr<Value> found =
          node.matmul(node.transpose(k, {0, 1, 3, 2}), state);
      if (failed(found))
        return failure();
      update = node.binary<MulOp>(node.binary<SubOp>(update, *found),
                                  node.broadcast(atToken(node, beta, t), row));
    }
    state = node.binary<AddOp>(
        state, node.binary<MulOp>(node.broadcast(k, perHead),
                                  node.broadcast(update, perHead)));
    FailureOr<Value> output = node.matmul(atToken(node, *query, t), state);
    if (failed(output))
      return failure();
    outputs.push_back(
        node.reshape(*output, {a.batch, 1, a.heads * a.group * values}));
  }
  if (node.wants(1))
    node.set(1, node.cast(state, element));
  return node.result(node.cast(node.concat(outputs, 1), element));
}

/// Imports CausalConvWithState: a convolution of each channel over the
/// positions up to its own, the first of which are in the state.
LogicalResult importCausalConv(Node &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.rank(0) != 3 || node.rank(1) != 3)
    return node.malformed("the input or the weights are not of rank 3");
  ArrayRef<int64_t> x = node.shape(0), w = node.shape(1);
  Shape before = {x[0], x[1], w[2] - 1};
  if (w[0] != x[1] || w[1] != 1 || w[2] < 1 ||
      (node.has(2) && (node.rank(2) != 1 || node.shape(2)[0] != x[1])) ||
      (node.has(3) && !llvm::equal(node.shape(3), before)))
    return node.malformed("weights " + shapeText(w) +
                          ", bias or state do not fit the input " +
                          shapeText(x));
  std::string activation = node.stringAttr("activation", "none");
  if (!llvm::is_contained({"none", "silu", "swish"}, activation))
    return node.malformed("activation is '" + activation + "'");
  Value whole = node.has(3)
                    ? node.concat({node.in(3), node.in(0)}, 2)
                    : node.pad(node.in(0), {0, 0, before[2]}, {0, 0, 0}, 0.0);
  Value result =
      ConvOp::create(node.b, node.loc, node.type(0), whole, node.in(1),
                     Shape{1}, Shape{1}, Shape{0}, Shape{0}, x[1]);
  if (node.has(2))
    result = node.binary<AddOp>(result, node.alongDim(node.in(2), x, 1));
  if (activation != "none")
    result = node.binary<MulOp>(result, node.unary<LogisticOp>(result));
  if (node.wants(1))
    node.set(1, node.sliceDim(whole, 2, x[2], x[2] + before[2]));
  return node.result(result);
}

} // namespace

void onnx_import::registerStateSpace(Registry &registry) {
  registry.add("LinearAttention", importLinearAttention);
  registry.add("CausalConvWithState", importCausalConv);
}
