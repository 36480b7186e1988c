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

LogicalResult RandomUniformOp::verify() { return checkScalars(*this); }

LogicalResult DropoutOp::verify() {
  if (failed(checkScalars(*this)))
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
