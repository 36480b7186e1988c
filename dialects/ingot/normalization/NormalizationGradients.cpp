// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Gradients of composite ops in closed form, from the statistics and results of
// the forward pass: no exponential, sum or variance is recomputed, and nothing
// large is subtracted from something nearly equal.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/normalization/NormalizationSupport.h"

using namespace mlir;
using namespace ingot;

using Cotangents = ArrayRef<Value>;
using Needed = const llvm::BitVector &;
using Gradients = MutableArrayRef<Value>;

//===----------------------------------------------------------------------===//
// Softmax and cross entropy
//===----------------------------------------------------------------------===//

/// dx = (g - sum(g y)) y
LogicalResult SoftmaxOp::buildVjp(OpBuilder &builder, Cotangents cotangents,
                                  Needed, Gradients out) {
  Arithmetic a(builder, getLoc());
  ArrayRef<int64_t> shape = getType().getShape();
  int64_t dim = getDim();
  Value g = widen(a, cotangents[0]), y = widen(a, getResult());
  Value dot = a.broadcastOver(a.sum(a.mul(g, y), dim), shape, dim);
  out[0] = narrow(a, a.mul(a.sub(g, dot), y), getOperand());
  return success();
}

/// dx = g - exp(y) sum(g)
LogicalResult LogSoftmaxOp::buildVjp(OpBuilder &builder, Cotangents cotangents,
                                     Needed, Gradients out) {
  Arithmetic a(builder, getLoc());
  ArrayRef<int64_t> shape = getType().getShape();
  int64_t dim = getDim();
  Value g = widen(a, cotangents[0]), y = widen(a, getResult());
  Value total = a.broadcastOver(a.sum(g, dim), shape, dim);
  out[0] = narrow(a, a.sub(g, a.mul(a.exp(y), total)), getOperand());
  return success();
}

/// With p = exp(logits - lse) and e the one-hot label: d losses gives p - e
/// where the label counts, d lse gives p.
LogicalResult CrossEntropyOp::buildVjp(OpBuilder &builder,
                                       Cotangents cotangents, Needed needed,
                                       Gradients out) {
  if (!needed[0])
    return success();
  Arithmetic a(builder, getLoc());
  RankedTensorType type = tensorType(getLogits());
  int64_t dim = getDim();
  auto spread = [&](Value value) {
    return a.broadcastOver(value, type.getShape(), dim);
  };
  Value logits = widen(a, getLogits());
  Type element = tensorType(logits).getElementType();
  Value p = a.exp(a.sub(logits, spread(a.cast(getLse(), element))));

  Value gradient;
  if (Value g = cotangents[0]) {
    Value ignored = ignoredLabels(a, *this);
    g = a.select(ignored, 0.0, a.cast(g, element));
    RankedTensorType indexType =
        withElement(type, tensorType(getLabels()).getElementType());
    Value hit =
        a.compare(Predicate::EQ, a.iota(indexType, dim), spread(getLabels()));
    gradient = a.mul(a.sub(p, a.cast(hit, element)), spread(g));
  }
  if (Value g = cotangents[1])
    gradient = addOrNull(builder, getLoc(), gradient,
                         a.mul(p, spread(a.cast(g, element))));
  out[0] = narrow(a, gradient, getLogits());
  return success();
}

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

namespace {
/// The gradient of y = n * scale + bias, n = (x - mean) * rstd, where mean and
/// rstd are statistics of x (without mean: n = x * rstd).
struct Normalization {
  Arithmetic a;
  NormDims dims;
  /// All tensors have one element type; `mean` may be null. `n` is the
  /// normalized operand.
  Value x, scale, mean, rstd, n;

  Normalization(Arithmetic a, NormDims dims, Value operand, Value scaleOperand,
                Value meanResult, Value rstdResult)
      : a(a), dims(std::move(dims)) {
    x = widen(a, operand);
    scale = wide(scaleOperand);
    mean = wide(meanResult);
    rstd = wide(rstdResult);
    Value centered = mean ? a.sub(x, this->dims.spreadStatistic(a, mean)) : x;
    n = a.mul(centered, this->dims.spreadStatistic(a, rstd));
  }

  /// Returns `value` in the type of the computation; null stays null.
  Value wide(Value value) {
    return value ? a.cast(value, tensorType(x).getElementType()) : value;
  }

  Value mean1(Value value) {
    return a.div(a.sum(value, dims.reduced), dims.count());
  }

  /// Returns d x of rstd * (u - mean(u) - n mean(u n)), where u is the
  /// cotangent of n and the means (in the shape of the statistics) are given.
  Value operandGradient(Value u, Value meanOfU, Value meanOfUn) {
    Value result = u;
    if (mean)
      result = a.sub(result, dims.spreadStatistic(a, meanOfU));
    result = a.sub(result, a.mul(n, dims.spreadStatistic(a, meanOfUn)));
    return a.mul(result, dims.spreadStatistic(a, rstd));
  }

  /// Returns the contribution of the cotangents of the statistics: d mean = 1/N
  /// and d rstd = -rstd^2 n / N.
  Value throughStatistics(OpBuilder &builder, Value gradient,
                          Value meanCotangent, Value rstdCotangent) {
    if (Value g = wide(meanCotangent))
      gradient = addOrNull(builder, g.getLoc(), gradient,
                           dims.spreadStatistic(a, a.div(g, dims.count())));
    if (Value g = wide(rstdCotangent)) {
      Value factor = a.div(a.mul(g, a.square(rstd)), -dims.count());
      gradient = addOrNull(builder, g.getLoc(), gradient,
                           a.mul(n, dims.spreadStatistic(a, factor)));
    }
    return gradient;
  }
};
} // namespace

/// Builds the gradients of layer_norm and rms_norm, whose statistics and scale
/// have different dimensions.
static void trailingNormVjp(OpBuilder &builder, Normalization norm, Value g,
                            Value meanCotangent, Value rstdCotangent,
                            Needed needed, OperandRange operands,
                            Gradients out) {
  Arithmetic a = norm.a;
  const NormDims &dims = norm.dims;
  g = norm.wide(g);
  if (needed[0]) {
    Value gradient;
    if (g) {
      Value u = a.mul(g, dims.spreadAffine(a, norm.scale));
      gradient = norm.operandGradient(u, norm.mean ? norm.mean1(u) : Value(),
                                      norm.mean1(a.mul(u, norm.n)));
    }
    gradient =
        norm.throughStatistics(builder, gradient, meanCotangent, rstdCotangent);
    out[0] = narrow(a, gradient, operands[0]);
  }
  if (g && needed[1])
    out[1] = narrow(a, a.sum(a.mul(g, norm.n), dims.repeated), operands[1]);
  if (g && operands.size() > 2 && needed[2])
    out[2] = narrow(a, a.sum(g, dims.repeated), operands[2]);
}

LogicalResult LayerNormOp::buildVjp(OpBuilder &builder, Cotangents cotangents,
                                    Needed needed, Gradients out) {
  Normalization norm(Arithmetic(builder, getLoc()),
                     NormDims::trailing(getOperand(), getDim()), getOperand(),
                     getScale(), getMean(), getRstd());
  trailingNormVjp(builder, norm, cotangents[0], cotangents[1], cotangents[2],
                  needed, getOperands(), out);
  return success();
}

LogicalResult RmsNormOp::buildVjp(OpBuilder &builder, Cotangents cotangents,
                                  Needed needed, Gradients out) {
  Normalization norm(Arithmetic(builder, getLoc()),
                     NormDims::trailing(getOperand(), getDim()), getOperand(),
                     getScale(), Value(), getRstd());
  trailingNormVjp(builder, norm, cotangents[0], Value(), cotangents[1], needed,
                  getOperands(), out);
  return success();
}

/// Scale and statistics have one shape here, so that the sums that the
/// gradients of scale and bias need are those that the gradient of the operand
/// needs.
LogicalResult BatchNormOp::buildVjp(OpBuilder &builder, Cotangents cotangents,
                                    Needed needed, Gradients out) {
  // Running statistics have no gradient.
  if (!cotangents[0] && !cotangents[3] && !cotangents[4])
    return success();
  Arithmetic a(builder, getLoc());
  Normalization norm(a, NormDims::channel(getOperand()), getOperand(),
                     getScale(), getMean(), getRstd());
  const NormDims &dims = norm.dims;
  Value gradient;
  if (Value g = norm.wide(cotangents[0])) {
    Value sum, sumNormalized;
    if (needed[0] || needed[2])
      sum = a.sum(g, dims.reduced);
    if (needed[0] || needed[1])
      sumNormalized = a.sum(a.mul(g, norm.n), dims.reduced);
    if (needed[0]) {
      // The gradients of scale and bias are those of this rank, as all
      // gradients are.
      SmallVector<Value> sums = {sum, sumNormalized,
                                 a.constantLike(sum, dims.count())};
      if (getOverRanks())
        sums = sumOverRanks(builder, getLoc(), sums);
      gradient = a.mul(norm.operandGradient(g, a.div(sums[0], sums[2]),
                                            a.div(sums[1], sums[2])),
                       dims.spreadAffine(a, norm.scale));
    }
    if (needed[1])
      out[1] = narrow(a, sumNormalized, getScale());
    if (needed[2])
      out[2] = narrow(a, sum, getBias());
  }
  if (!needed[0])
    return success();
  if (getOverRanks() && (cotangents[3] || cotangents[4]))
    return emitOpError("statistics over ranks have no gradient");
  gradient =
      norm.throughStatistics(builder, gradient, cotangents[3], cotangents[4]);
  out[0] = narrow(a, gradient, getOperand());
  return success();
}
