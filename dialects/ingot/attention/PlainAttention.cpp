// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/attention/PlainAttention.h"

#include <limits>

using namespace mlir;
using namespace ingot;

static double lowest(Type element) {
  return APFloat::getLargest(cast<FloatType>(element).getFloatSemantics(),
                             /*Negative=*/true)
      .convertToDouble();
}

Value ingot::emitWithinBounds(OpBuilder &builder, Location loc,
                              const AttentionSizes &sizes, int64_t left,
                              int64_t right) {
  Arithmetic a(builder, loc);
  auto square =
      RankedTensorType::get({sizes.queries, sizes.keys}, builder.getI64Type());
  Value ahead = a.sub(a.iota(square, 1), a.iota(square, 0));
  Value past, recent;
  if (right >= 0)
    past = a.compare(Predicate::LE, ahead, static_cast<double>(right));
  if (left >= 0)
    recent = a.compare(Predicate::GE, ahead, -static_cast<double>(left));
  return past && recent ? a.logicalAnd(past, recent) : past ? past : recent;
}

SmallVector<int64_t> ingot::commonShape(ArrayRef<Value> terms) {
  SmallVector<int64_t> shape(4, 1);
  for (Value term : terms)
    if (term)
      for (auto [size, other] :
           llvm::zip_equal(shape, tensorType(term).getShape()))
        size = std::max(size, other);
  return shape;
}

Value ingot::clampLengths(Arithmetic a, Value lengths, int64_t keys) {
  Value most = a.min(lengths, static_cast<double>(keys));
  return a.cast(a.max(most, 0.0), IntegerType::get(lengths.getContext(), 32));
}

Value ingot::emitWithinLengths(OpBuilder &builder, Location loc,
                               const AttentionSizes &sizes, Value lengths) {
  Arithmetic a(builder, loc);
  SmallVector<int64_t> shape = {sizes.batch, 1, 1, sizes.keys};
  Value positions = a.iota(
      RankedTensorType::get(shape, tensorType(lengths).getElementType()), 3);
  return a.compare(Predicate::LT, positions, a.broadcast(lengths, shape, {0}));
}

PlainAttention::PlainAttention(OpBuilder &builder, Location loc, Value query,
                               Value key, Value value,
                               const AttentionTerms &terms, double scale,
                               double softcap)
    : builder(builder), loc(loc), a(builder, loc),
      sizes(AttentionSizes::of(query, key, value)), scale(scale),
      element(tensorType(query).getElementType()), wide(computeElement(query)),
      terms(terms) {
  q = swapHeads(query);
  k = repeatHeads(swapHeads(key));
  v = repeatHeads(swapHeads(value));
  scoresType = RankedTensorType::get(
      {sizes.batch, sizes.heads, sizes.queries, sizes.keys}, wide);
  scores = a.mul(matmul(q, false, k, true, wide), scale);
  if (softcap != 0) {
    Value bounded =
        TanhOp::create(builder, loc, scoresType, a.div(scores, softcap));
    capSlope = a.sub(1.0, a.square(bounded));
    scores = a.mul(bounded, softcap);
  }
  if (terms.bias)
    scores =
        a.add(scores, broadcastTrailing(builder, loc, a.cast(terms.bias, wide),
                                        scoresType.getShape()));
  allowed = findAllowed();
  rowsMayBeEmpty = terms.bias || terms.mask || terms.lengths ||
                   sizes.window(terms.left, terms.right).fewest == 0;
  // The random numbers are f32, as for `ingot.dropout`.
  if (terms.seed)
    kept = a.compare(
        Predicate::GE,
        RandomUniformOp::create(builder, loc,
                                withElement(scoresType, builder.getF32Type()),
                                terms.seed, terms.step, terms.stream),
        terms.ratio);
}

Value PlainAttention::findAllowed() {
  Value result;
  auto require = [&](Value holds) {
    holds = broadcastTrailing(builder, loc, holds, scoresType.getShape());
    result = result ? a.logicalAnd(result, holds) : holds;
  };
  if (terms.left >= 0 || terms.right >= 0)
    require(emitWithinBounds(builder, loc, sizes, terms.left, terms.right));
  if (terms.mask)
    require(terms.mask);
  if (terms.lengths)
    require(emitWithinLengths(builder, loc, sizes, terms.lengths));
  if (terms.bias)
    require(a.compare(Predicate::NE, terms.bias,
                      -std::numeric_limits<double>::infinity()));
  return result;
}

Value PlainAttention::keep(Value pairs) {
  if (!kept)
    return pairs;
  return a.select(kept, a.mul(pairs, 1.0 / (1.0 - terms.ratio)), 0.0);
}

Value PlainAttention::swapHeads(Value value) {
  RankedTensorType type = tensorType(value);
  ArrayRef<int64_t> s = type.getShape();
  return TransposeOp::create(
      builder, loc,
      RankedTensorType::get({s[0], s[2], s[1], s[3]}, type.getElementType()),
      value, ArrayRef<int64_t>{0, 2, 1, 3});
}

/// Repeats each key head for every query head that uses it.
Value PlainAttention::repeatHeads(Value value) {
  if (sizes.heads == sizes.keyHeads)
    return value;
  ArrayRef<int64_t> s = tensorType(value).getShape();
  Value repeated =
      a.broadcast(value, {s[0], s[1], sizes.heads / sizes.keyHeads, s[2], s[3]},
                  {0, 1, 3, 4});
  return a.reshape(repeated, {s[0], sizes.heads, s[2], s[3]});
}

/// Returns the gradient of repeatHeads.
Value PlainAttention::sumHeads(Value value) {
  if (sizes.heads == sizes.keyHeads)
    return value;
  ArrayRef<int64_t> s = tensorType(value).getShape();
  return a.sum(a.reshape(value, {s[0], sizes.keyHeads,
                                 sizes.heads / sizes.keyHeads, s[2], s[3]}),
               {2});
}

Value PlainAttention::matmul(Value lhs, bool transposeLhs, Value rhs,
                             bool transposeRhs, Type resultElement) {
  ArrayRef<int64_t> l = tensorType(lhs).getShape();
  ArrayRef<int64_t> r = tensorType(rhs).getShape();
  auto type = RankedTensorType::get(
      {l[0], l[1], l[transposeLhs ? 3 : 2], r[transposeRhs ? 2 : 3]},
      resultElement);
  return MatmulOp::create(builder, loc, type, lhs, rhs, transposeLhs,
                          transposeRhs);
}

Value PlainAttention::spread(Value value) {
  return a.broadcastOver(value, scoresType.getShape(), {3});
}

/// The softmax is finite for fully masked rows, because masked scores are the
/// lowest number instead of -infinity, so that no difference is NaN.
Value PlainAttention::weights() {
  Value filled = allowed ? a.select(allowed, scores, lowest(wide)) : scores;
  Value result = SoftmaxOp::create(builder, loc, scoresType, filled, /*dim=*/3);
  return keep(rowsMayBeEmpty ? a.select(allowed, result, 0.0) : result);
}

Value PlainAttention::output(Value weights) {
  return swapHeads(matmul(a.cast(weights, element), false, v, false, element));
}

Value PlainAttention::lse() {
  Value filled = allowed ? a.select(allowed, scores, lowest(wide)) : scores;
  Value largest = a.maxOver(filled, 3);
  Value total = a.sum(a.exp(a.sub(filled, spread(largest))), 3);
  Value result = a.add(largest, a.log(total));
  if (!rowsMayBeEmpty)
    return result;
  Value isEmpty = a.compare(Predicate::EQ, largest, lowest(wide));
  return a.select(isEmpty, std::numeric_limits<double>::infinity(), result);
}

/// With p the weights, g the cotangent of the output and d = sum of g output:
/// d value = keep(p)^T g, d scores = p (keep(g value^T) - d + cotangent of
/// lse).
PlainAttention::Gradients PlainAttention::gradients(Value output, Value lse,
                                                    Value outputCotangent,
                                                    Value lseCotangent,
                                                    bool wantsBias) {
  Gradients result;
  Value p = a.exp(a.sub(scores, spread(lse)));
  if (allowed)
    p = a.select(allowed, p, 0.0);
  Value perQuery = lseCotangent, perPair;
  if (outputCotangent) {
    Value g = swapHeads(outputCotangent);
    result.value = swapHeads(
        sumHeads(matmul(a.cast(keep(p), element), true, g, false, element)));
    Value dot =
        a.sum(a.mul(a.cast(outputCotangent, wide), a.cast(output, wide)), 3);
    // Transposes [batch, queries, heads] to [batch, heads, queries].
    dot = TransposeOp::create(builder, loc, tensorType(lse), dot,
                              ArrayRef<int64_t>{0, 2, 1});
    perQuery = lseCotangent ? a.sub(lseCotangent, dot) : a.neg(dot);
    perPair = keep(matmul(g, false, v, true, wide));
  }
  Value ds = spread(perQuery);
  if (perPair)
    ds = a.add(perPair, ds);
  ds = a.mul(p, ds);
  if (wantsBias) {
    SmallVector<int64_t> repeated;
    ArrayRef<int64_t> shape = tensorType(terms.bias).getShape();
    for (int64_t i = 0; i < 3; ++i)
      if (shape[i] != scoresType.getDimSize(i))
        repeated.push_back(i);
    result.bias = a.reshape(narrow(a, a.sum(ds, repeated), terms.bias), shape);
  }
  if (capSlope)
    ds = a.mul(ds, capSlope);
  Value scaled = a.cast(a.mul(ds, scale), element);
  result.query = swapHeads(matmul(scaled, false, k, false, element));
  result.key = swapHeads(sumHeads(matmul(scaled, true, q, false, element)));
  return result;
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  PlainAttention plain(builder, *this);
  return {plain.output(plain.weights()), plain.lse()};
}

SmallVector<Value> AttentionGradOp::decompose(OpBuilder &builder) {
  PlainAttention::Gradients gradients =
      PlainAttention(builder, *this)
          .gradients(getOutput(), getLse(), getCotangent(), Value(),
                     /*wantsBias=*/false);
  return {gradients.query, gradients.key, gradients.value};
}

/// Returns the result without dropout.
template <typename Op>
static SmallVector<Value> inferenceForm(OpBuilder &builder, Op op) {
  auto form = cast<Op>(builder.clone(*op));
  form.getSeedMutable().clear();
  form.getStepMutable().clear();
  form.setRatio(llvm::APFloat(0.0));
  form.setStream(0);
  return {form.getResult(), form.getLse()};
}

SmallVector<Value> AttentionOp::buildInferenceForm(OpBuilder &builder) {
  return inferenceForm(builder, *this);
}
SmallVector<Value> PackedAttentionOp::buildInferenceForm(OpBuilder &builder) {
  return inferenceForm(builder, *this);
}

/// Builds the gradient op where that computes all gradients. If the bias is
/// trained, its gradient needs the scores, which are then stored: the gradient
/// is built from primitives.
LogicalResult AttentionOp::buildVjp(OpBuilder &builder,
                                    ArrayRef<Value> cotangents,
                                    const llvm::BitVector &needed,
                                    MutableArrayRef<Value> out) {
  bool needsBias = getBias() && needed[3];
  if (cotangents[0] && !cotangents[1] && !needsBias) {
    auto gradient = AttentionGradOp::create(
        builder, getLoc(),
        TypeRange{getQuery().getType(), getKey().getType(),
                  getValue().getType()},
        getQuery(), getKey(), getValue(), getResult(), getLse(), cotangents[0],
        getBias(), getMask(), getLengths(), getSeed(), getStep(),
        getScaleAttr(), getLeftAttr(), getRightAttr(), getSoftcapAttr(),
        getRatioAttr(), getStreamAttr());
    llvm::copy(gradient.getResults(), out.begin());
    return success();
  }
  PlainAttention::Gradients gradients =
      PlainAttention(builder, *this)
          .gradients(getResult(), getLse(), cotangents[0], cotangents[1],
                     needsBias);
  out[0] = gradients.query;
  out[1] = gradients.key;
  out[2] = gradients.value;
  if (needsBias)
    out[3] = gradients.bias;
  return success();
}

//===----------------------------------------------------------------------===//
// Packed attention: the parts as separate values
//===----------------------------------------------------------------------===//

/// Returns the queries, keys and values of a packed attention.
template <typename Op>
static std::array<Value, 3> unpack(OpBuilder &builder, Op op) {
  RankedTensorType type = tensorType(op.getPacked());
  AttentionSizes sizes = op.getSizes();
  int64_t counts[] = {sizes.heads, sizes.keyHeads, sizes.keyHeads};
  std::array<Value, 3> parts;
  for (auto [part, first, count] :
       llvm::zip_equal(parts, op.getFirstHeads(), counts)) {
    SmallVector<int64_t> starts(4, 0), limits(type.getShape()), strides(4, 1);
    SmallVector<int64_t> shape(limits);
    starts[2] = first;
    limits[2] = first + count;
    shape[2] = count;
    part = SliceOp::create(builder, op.getLoc(),
                           RankedTensorType::get(shape, type.getElementType()),
                           op.getPacked(), starts, limits, strides);
  }
  return parts;
}

SmallVector<Value> PackedAttentionOp::decompose(OpBuilder &builder) {
  auto [query, key, value] = unpack(builder, *this);
  auto separate = AttentionOp::create(
      builder, getLoc(), getResultTypes(), query, key, value, getBias(),
      getMask(), getLengths(), getSeed(), getStep(), getScaleAttr(),
      getLeftAttr(), getRightAttr(), builder.getF64FloatAttr(0), getRatioAttr(),
      getStreamAttr());
  return {separate.getResult(), separate.getLse()};
}

SmallVector<Value> PackedAttentionGradOp::decompose(OpBuilder &builder) {
  auto [query, key, value] = unpack(builder, *this);
  auto separate = AttentionGradOp::create(
      builder, getLoc(),
      TypeRange{query.getType(), key.getType(), value.getType()}, query, key,
      value, getOutput(), getLse(), getCotangent(), getBias(), getMask(),
      getLengths(), getSeed(), getStep(), getScaleAttr(), getLeftAttr(),
      getRightAttr(), builder.getF64FloatAttr(0), getRatioAttr(),
      getStreamAttr());
  return {ConcatOp::create(builder, getLoc(), getPacked().getType(),
                           separate.getResults(), /*dim=*/2)};
}

LogicalResult PackedAttentionOp::buildVjp(OpBuilder &builder,
                                          ArrayRef<Value> cotangents,
                                          const llvm::BitVector &needed,
                                          MutableArrayRef<Value> out) {
  bool needsBias = getBias() && needed[1];
  if (cotangents[0] && !cotangents[1] && !needsBias) {
    out[0] = PackedAttentionGradOp::create(
        builder, getLoc(), getPacked().getType(), getPacked(), getResult(),
        getLse(), cotangents[0], getBias(), getMask(), getLengths(), getSeed(),
        getStep(), getKeyHeadsAttr(), getScaleAttr(), getLeftAttr(),
        getRightAttr(), getRatioAttr(), getStreamAttr());
    return success();
  }
  auto [query, key, value] = unpack(builder, *this);
  PlainAttention plain(builder, getLoc(), query, key, value,
                       AttentionTerms::of(*this), getScale().convertToDouble(),
                       /*softcap=*/0);
  PlainAttention::Gradients gradients = plain.gradients(
      getResult(), getLse(), cotangents[0], cotangents[1], needsBias);
  // Without a cotangent of the result, values have no gradient.
  if (!gradients.value)
    gradients.value = splatLike(builder, value, 0);
  out[0] = ConcatOp::create(
      builder, getLoc(), getPacked().getType(),
      ValueRange{gradients.query, gradients.key, gradients.value}, /*dim=*/2);
  if (needsBias)
    out[1] = gradients.bias;
  return success();
}
