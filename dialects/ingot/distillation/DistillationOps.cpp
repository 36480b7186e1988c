// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification, gradients and decompositions of losses that compare a model
// with another one; constraints are those of docs/spec/distillation.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/distillation/DistillationOps.h"
#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Extensions.h"
#include "dialects/ingot/support/Verification.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

#include "dialects/ingot/distillation/ClassLoss.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/ingot/distillation/Distillation.cpp.inc"

namespace {
struct CrossEntropyScores
    : ClassLoss::ExternalModel<CrossEntropyScores, CrossEntropyOp> {
  SmallVector<Value> getScores(Operation *op) const {
    return {cast<CrossEntropyOp>(op).getLogits()};
  }
};
} // namespace

void ingot::addDistillation(Dialect &dialect) {
  RegisteredOperationName::insert<SoftmaxDivergenceOp>(dialect);
  CrossEntropyOp::attachInterface<CrossEntropyScores>(*dialect.getContext());
}

Precision SoftmaxDivergenceOp::getPrecisionRole() { return Precision::Keep; }

SmallVector<Value> SoftmaxDivergenceOp::getScores() {
  return {getLogits(), getTargets()};
}

LogicalResult SoftmaxDivergenceOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  RankedTensorType logits = tensorType(getLogits());
  if (failed(checkDim(fail, "C1", getDim(), logits.getRank())))
    return failure();
  if (logits.getDimSize(getDim()) == 0)
    return emitOpError("C2: dimension ") << getDim() << " must not be empty";
  if (failed(checkType(fail, "C4", "losses",
                       dropDims(logits, {static_cast<int64_t>(getDim())}),
                       getLosses().getType())))
    return failure();
  double temperature = getTemperature().convertToDouble();
  if (!(temperature > 0) || !std::isfinite(temperature))
    return emitOpError("C5: temperature must be positive, got ") << temperature;
  return success();
}

/// Returns p x, where a probability p of 0 makes it 0, as the logarithms of
/// such probabilities are infinite.
static Value multiplyBy(Arithmetic a, Value p, Value x) {
  return a.select(a.compare(Predicate::EQ, p, 0.0), p, a.mul(p, x));
}

SmallVector<Value> SoftmaxDivergenceOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  ArrayRef<int64_t> shape = tensorType(getLogits()).getShape();
  int64_t dim = getDim();
  auto spread = [&](Value value) { return a.broadcastOver(value, shape, dim); };
  Value lse[2], logs[2];
  for (auto [i, operand] : llvm::enumerate(getScores())) {
    Value x = a.mul(widen(a, operand), 1 / getTemperature().convertToDouble());
    Value largest = a.maxOver(x, dim);
    Value total = a.sum(a.exp(a.sub(x, spread(largest))), dim);
    lse[i] = a.add(largest, a.log(total));
    logs[i] = a.sub(x, spread(lse[i]));
  }
  Value q = a.exp(logs[1]);
  Value losses = a.sum(multiplyBy(a, q, a.sub(logs[1], logs[0])), dim);
  return {narrow(a, losses, getLosses()), narrow(a, lse[0], getLse()),
          narrow(a, lse[1], getTargetsLse())};
}

/// With p = exp(logits / T - lse) and q = exp(targets / T - targets_lse):
/// d losses gives (p - q) / T to logits and q (log q - log p - losses) / T to
/// targets, d lse gives p / T and d targets_lse q / T.
LogicalResult SoftmaxDivergenceOp::buildVjp(OpBuilder &builder,
                                            ArrayRef<Value> cotangents,
                                            const llvm::BitVector &needed,
                                            MutableArrayRef<Value> out) {
  Arithmetic a(builder, getLoc());
  ArrayRef<int64_t> shape = tensorType(getLogits()).getShape();
  int64_t dim = getDim();
  double scale = 1 / getTemperature().convertToDouble();
  Value logits = a.mul(widen(a, getLogits()), scale);
  Value targets = a.mul(widen(a, getTargets()), scale);
  Type element = tensorType(logits).getElementType();
  auto spread = [&](Value value) {
    return a.broadcastOver(a.cast(value, element), shape, dim);
  };
  Value logP = a.sub(logits, spread(getLse()));
  Value logQ = a.sub(targets, spread(getTargetsLse()));
  Value p = a.exp(logP), q = a.exp(logQ);
  Value ofLosses = cotangents[0] ? spread(cotangents[0]) : Value();
  auto finish = [&](Value gradient, Value probability, Value ofLse,
                    Value operand) -> Value {
    if (ofLse)
      gradient = addOrNull(builder, getLoc(), gradient,
                           a.mul(probability, spread(ofLse)));
    return gradient ? narrow(a, a.mul(gradient, scale), operand) : Value();
  };
  if (needed[0])
    out[0] = finish(ofLosses ? a.mul(a.sub(p, q), ofLosses) : Value(), p,
                    cotangents[1], getLogits());
  if (needed[1]) {
    Value gradient;
    if (ofLosses)
      gradient =
          a.mul(multiplyBy(a, q, a.sub(a.sub(logQ, logP), spread(getLosses()))),
                ofLosses);
    out[1] = finish(gradient, q, cotangents[2], getTargets());
  }
  return success();
}
