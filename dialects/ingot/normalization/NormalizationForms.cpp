// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Decompositions of composite ops, and their evaluation forms.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/normalization/NormalizationSupport.h"

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// Softmax and cross entropy
//===----------------------------------------------------------------------===//

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  ArrayRef<int64_t> shape = getType().getShape();
  int64_t dim = getDim();
  Value x = widen(a, getOperand());
  Value e = a.exp(a.sub(x, a.broadcastOver(a.maxOver(x, dim), shape, dim)));
  Value total = a.broadcastOver(a.sum(e, dim), shape, dim);
  return {narrow(a, a.div(e, total), getResult())};
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  ArrayRef<int64_t> shape = getType().getShape();
  int64_t dim = getDim();
  Value x = widen(a, getOperand());
  Value shifted = a.sub(x, a.broadcastOver(a.maxOver(x, dim), shape, dim));
  Value logTotal = a.log(a.sum(a.exp(shifted), dim));
  return {narrow(a, a.sub(shifted, a.broadcastOver(logTotal, shape, dim)),
                 getResult())};
}

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  ArrayRef<int64_t> shape = tensorType(getLogits()).getShape();
  int64_t dim = getDim();
  Value x = widen(a, getLogits());
  Value largest = a.maxOver(x, dim);
  Value total =
      a.sum(a.exp(a.sub(x, a.broadcastOver(largest, shape, dim))), dim);
  Value lse = a.add(largest, a.log(total));

  // The index that is ignored is clamped like any other: its loss is replaced.
  SmallVector<int64_t> column(shape);
  column[dim] = 1;
  Value chosen = TakeAlongOp::create(
      builder, getLoc(),
      RankedTensorType::get(column, tensorType(getLogits()).getElementType()),
      getLogits(), a.reshape(getLabels(), column), dim);
  chosen = widen(a, a.reshape(chosen, tensorType(getLosses()).getShape()));
  Value ignored = ignoredLabels(a, *this);
  Value losses = a.select(ignored, 0.0, a.sub(lse, chosen));
  return {narrow(a, losses, getLosses()), narrow(a, lse, getLse())};
}

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

/// Computes (centered * rstd) * scale + bias, without bias if it is null.
static Value scaleAndShift(Arithmetic a, const NormDims &dims, Value centered,
                           Value rstd, Value scale, Value bias) {
  Type element = tensorType(centered).getElementType();
  Value n = a.mul(centered, dims.spreadStatistic(a, rstd));
  Value result = a.mul(n, dims.spreadAffine(a, a.cast(scale, element)));
  if (bias)
    result = a.add(result, dims.spreadAffine(a, a.cast(bias, element)));
  return result;
}

/// Computes 1 / sqrt(mean of squares + epsilon).
static Value rstdOf(Arithmetic a, Value meanSquare, const APFloat &epsilon) {
  return a.rsqrt(a.add(meanSquare, epsilon.convertToDouble()));
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  NormDims dims = NormDims::trailing(getOperand(), getDim());
  Value x = widen(a, getOperand());
  Value mean = a.div(a.sum(x, dims.reduced), dims.count());
  // The operand is read twice: E[x^2] - E[x]^2 would cancel where the mean is
  // large.
  Value centered = a.sub(x, dims.spreadStatistic(a, mean));
  Value variance = a.div(a.sum(a.square(centered), dims.reduced), dims.count());
  Value rstd = rstdOf(a, variance, getEpsilon());
  Value result = scaleAndShift(a, dims, centered, rstd, getScale(), getBias());
  return {narrow(a, result, getResult()), narrow(a, mean, getMean()),
          narrow(a, rstd, getRstd())};
}

SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  NormDims dims = NormDims::trailing(getOperand(), getDim());
  Value x = widen(a, getOperand());
  Value meanSquare = a.div(a.sum(a.square(x), dims.reduced), dims.count());
  Value rstd = rstdOf(a, meanSquare, getEpsilon());
  Value result = scaleAndShift(a, dims, x, rstd, getScale(), Value());
  return {narrow(a, result, getResult()), narrow(a, rstd, getRstd())};
}

SmallVector<Value> BatchNormOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  NormDims dims = NormDims::channel(getOperand());
  Value x = widen(a, getOperand());
  Value sum = a.sum(x, dims.reduced);
  Value count = a.constantLike(sum, dims.count());
  if (getOverRanks()) {
    SmallVector<Value> sums = sumOverRanks(builder, getLoc(), {sum, count});
    sum = sums[0];
    count = sums[1];
  }
  Value mean = a.div(sum, count);
  Value centered = a.sub(x, dims.spreadStatistic(a, mean));
  Value squares = a.sum(a.square(centered), dims.reduced);
  if (getOverRanks())
    squares = sumOverRanks(builder, getLoc(), squares).front();
  Value variance = a.div(squares, count);
  Value rstd = rstdOf(a, variance, getEpsilon());
  Value result = scaleAndShift(a, dims, centered, rstd, getScale(), getBias());

  // Computed in the precision of the running statistics, which accumulate the
  // result.
  double momentum = getMomentum().convertToDouble();
  auto blend = [&](Value running, Value batch) {
    batch = narrow(a, batch, running);
    return a.add(a.mul(running, momentum), a.mul(batch, 1.0 - momentum));
  };
  // One element per channel has no unbiased variance: 0 / 0, which is NaN.
  Value reported = getUnbiased() ? a.div(squares, a.sub(count, 1.0)) : variance;
  return {narrow(a, result, getResult()), blend(getRunningMean(), mean),
          blend(getRunningVariance(), reported), narrow(a, mean, getMean()),
          narrow(a, rstd, getRstd())};
}

SmallVector<Value> BatchNormOp::buildInferenceForm(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  NormDims dims = NormDims::channel(getOperand());
  Value x = widen(a, getOperand());
  Type element = tensorType(x).getElementType();
  Value mean = a.cast(getRunningMean(), element);
  Value rstd = rstdOf(a, a.cast(getRunningVariance(), element), getEpsilon());
  Value centered = a.sub(x, dims.spreadStatistic(a, mean));
  Value result = scaleAndShift(a, dims, centered, rstd, getScale(), getBias());
  return {narrow(a, result, getResult()), getRunningMean(),
          getRunningVariance(), narrow(a, mean, getMean()),
          narrow(a, rstd, getRstd())};
}
