// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification of the random ops; constraints are those of docs/spec/random.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

/// C1: the key and the counter must be scalars.
template <typename Op> static LogicalResult checkScalars(Op op) {
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  if (failed(checkShape(fail, "C1", "seed", {},
                        tensorType(op.getSeed()).getShape())))
    return failure();
  return checkShape(fail, "C1", "step", {},
                    tensorType(op.getStep()).getShape());
}

/// A part is within a whole that is at least as large.
template <typename Op>
static LogicalResult checkPart(Op op, StringRef constraint) {
  auto fail = [&](const Twine &message) { return op.emitOpError(message); };
  if (bool(op.getFirst()) != op.getWhole().has_value())
    return fail(constraint + ": a part has both its first position and the "
                             "shape of the whole");
  if (!op.getFirst())
    return success();
  if (failed(checkShape(fail, constraint, "the first position", {},
                        tensorType(op.getFirst()).getShape())))
    return failure();
  ArrayRef<int64_t> own = tensorType(op.getResult()).getShape();
  ArrayRef<int64_t> whole = *op.getWhole();
  bool isWithin = own.size() == whole.size();
  for (size_t i = 0; isWithin && i < own.size(); ++i)
    isWithin = own[i] <= whole[i];
  if (!isWithin)
    return fail(constraint +
                ": a part is within a tensor of as many "
                "dimensions, got a whole of " +
                listText(whole) + " for " + listText(own));
  return success();
}

LogicalResult RandomUniformOp::verify() {
  if (failed(checkScalars(*this)))
    return failure();
  return checkPart(*this, "C2");
}

LogicalResult DropoutOp::verify() {
  if (failed(checkScalars(*this)) || failed(checkPart(*this, "C4")))
    return failure();
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return emitOpError("C2: ratio must be at least 0 and below 1, got ")
           << ratio;
  RankedTensorType type = tensorType(getOperand());
  if (failed(checkType(fail, "C3", "the result", type, getResult().getType())))
    return failure();
  return checkType(fail, "C3", "the mask",
                   withElement(type, IntegerType::get(getContext(), 1)),
                   getMask().getType());
}
