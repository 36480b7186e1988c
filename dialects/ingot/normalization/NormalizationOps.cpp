// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification of composite ops; constraints are those of
// docs/spec/normalization.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

template <typename Op> static LogicalResult checkSoftmaxLike(Op op) {
  return checkDim([&](const Twine &m) { return op.emitOpError(m); }, "C1",
                  op.getDim(), tensorType(op.getOperand()).getRank());
}

LogicalResult SoftmaxOp::verify() { return checkSoftmaxLike(*this); }

LogicalResult LogSoftmaxOp::verify() { return checkSoftmaxLike(*this); }

/// Checks the constraints that layer_norm and rms_norm share. `normalized` are
/// values with the shape of the normalized dimensions, `others` with that of
/// the dimensions before.
template <typename Op>
static LogicalResult checkNorm(Op op,
                               ArrayRef<std::pair<StringRef, Value>> normalized,
                               ArrayRef<std::pair<StringRef, Value>> others) {
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  RankedTensorType type = tensorType(op.getOperand());
  int64_t dim = op.getDim();
  if (failed(checkDim(fail, "C1", dim, type.getRank())) ||
      failed(
          checkType(fail, "C2", "the result", type, op.getResult().getType())))
    return failure();
  Type element = type.getElementType();
  auto check = [&](StringRef label, ArrayRef<int64_t> shape,
                   ArrayRef<std::pair<StringRef, Value>> values) {
    RankedTensorType want = RankedTensorType::get(shape, element);
    for (auto [name, value] : values)
      if (value && failed(checkType(fail, label, name, want, value.getType())))
        return failure();
    return success();
  };
  if (failed(check("C3", type.getShape().drop_front(dim), normalized)) ||
      failed(check("C4", type.getShape().take_front(dim), others)))
    return failure();
  if (!(op.getEpsilon().convertToDouble() >= 0))
    return op.emitOpError("C5: epsilon must not be negative, got ")
           << op.getEpsilon().convertToDouble();
  return success();
}

LogicalResult LayerNormOp::verify() {
  return checkNorm(*this, {{"scale", getScale()}, {"bias", getBias()}},
                   {{"mean", getMean()}, {"rstd", getRstd()}});
}

LogicalResult RmsNormOp::verify() {
  return checkNorm(*this, {{"scale", getScale()}}, {{"rstd", getRstd()}});
}

LogicalResult BatchNormOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  RankedTensorType type = tensorType(getOperand());
  if (type.getRank() < 2)
    return emitOpError("C1: the operand must have rank 2 or more, got ")
           << type.getRank();
  if (failed(checkType(fail, "C2", "the result", type, getResult().getType())))
    return failure();
  int64_t channels = type.getDimSize(1);
  RankedTensorType want =
      RankedTensorType::get({channels}, type.getElementType());
  std::pair<StringRef, Value> perChannel[] = {
      {"scale", getScale()},
      {"bias", getBias()},
      {"running_mean", getRunningMean()},
      {"running_variance", getRunningVariance()},
      {"new_mean", getNewMean()},
      {"new_variance", getNewVariance()},
      {"mean", getMean()},
      {"rstd", getRstd()}};
  for (auto [name, value] : perChannel)
    if (failed(checkType(fail, "C3", name, want, value.getType())))
      return failure();
  if (!(getEpsilon().convertToDouble() >= 0))
    return emitOpError("C4: epsilon must not be negative, got ")
           << getEpsilon().convertToDouble();
  if (getUnbiased() && type.getNumElements() == channels)
    return emitOpError("C5: the unbiased variance needs more than one value "
                       "per channel, got ")
           << type;
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  RankedTensorType logits = tensorType(getLogits());
  if (failed(checkDim(fail, "C1", getDim(), logits.getRank())))
    return failure();
  if (logits.getDimSize(getDim()) == 0)
    return emitOpError("C2: dimension ") << getDim() << " must not be empty";
  RankedTensorType want = dropDims(logits, {static_cast<int64_t>(getDim())});
  if (failed(checkType(fail, "C3", "labels",
                       withElement(want, IntegerType::get(getContext(), 64)),
                       getLabels().getType())))
    return failure();
  if (failed(checkType(fail, "C4", "losses", want, getLosses().getType())))
    return failure();
  return checkType(fail, "C4", "lse", want, getLse().getType());
}
