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
static Value rstdOf(Arithmetic a, Value meanSquare, APFloat epsilon) {
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

/// Returns an element of each channel.
static Value firstOfChannels(OpBuilder &builder, Location loc, Value x) {
  RankedTensorType type = tensorType(x);
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getRank(), 1),
      strides(type.getRank(), 1);
  limits[1] = type.getDimSize(1);
  Value element = SliceOp::create(
      builder, loc, RankedTensorType::get(limits, type.getElementType()), x,
      starts, limits, strides);
  return reshapeTo(builder, loc, element, {limits[1]});
}

SmallVector<Value> BatchNormOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  NormDims dims = NormDims::channel(getOperand());
  Value x = widen(a, getOperand());
  // Sums of differences from one of the elements, and of their squares, take
  // one pass over the operand. E[x^2] - E[x]^2 would cancel where the mean is
  // large, but no element is far from the mean for the deviation of all
  // (Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance").
  Value shifted = x, shift;
  if (dims.count() > 0) {
    shift = firstOfChannels(builder, getLoc(), x);
    shifted = a.sub(x, dims.spreadStatistic(a, shift));
  }
  Value sum = a.sum(shifted, dims.reduced);
  Value squares = a.sum(a.square(shifted), dims.reduced);
  Value own = a.div(sum, dims.count());
  squares = a.max(a.sub(squares, a.mul(sum, own)), 0.0);
  Value mean = shift ? a.add(shift, own) : own;
  Value count = a.constantLike(sum, dims.count());
  if (getOverRanks()) {
    Value local = mean;
    SmallVector<Value> sums =
        sumOverRanks(builder, getLoc(), {a.mul(mean, dims.count()), count});
    count = sums[1];
    mean = a.div(sums[0], count);
    // Those of the rank's own elements are from its own mean.
    Value rest = a.mul(a.square(a.sub(local, mean)), dims.count());
    squares = sumOverRanks(builder, getLoc(), a.add(squares, rest)).front();
  }
  Value centered = a.sub(x, dims.spreadStatistic(a, mean));
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
