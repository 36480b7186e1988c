// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Gradient, decomposition and evaluation form of dropout.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"

using namespace mlir;
using namespace ingot;

/// Computes x / (1 - ratio) where the mask holds. With ratio 1 nothing is kept,
/// and nothing is divided by zero.
static Value keep(Arithmetic a, Value mask, Value x, double ratio) {
  double scale = ratio < 1.0 ? 1.0 / (1.0 - ratio) : 0.0;
  return a.select(mask, a.mul(x, scale), 0.0);
}

LogicalResult DropoutOp::buildVjp(OpBuilder &builder,
                                  ArrayRef<Value> cotangents,
                                  const llvm::BitVector &needed,
                                  MutableArrayRef<Value> operandCotangents) {
  if (needed[0] && cotangents[0])
    operandCotangents[0] = keep(Arithmetic(builder, getLoc()), getMask(),
                                cotangents[0], getRatio().convertToDouble());
  return success();
}

SmallVector<Value> DropoutOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  // The random numbers are f32 in all precisions, so that the mask does not
  // depend on the precision.
  Value drawn = RandomUniformOp::create(
      builder, getLoc(),
      withElement(tensorType(getOperand()), builder.getF32Type()), getSeed(),
      getStep(), getFirst(), getStream(), getWholeAttr());
  double ratio = getRatio().convertToDouble();
  Value mask = a.compare(Predicate::GE, drawn, ratio);
  return {keep(a, mask, getOperand(), ratio), mask};
}

SmallVector<Value> DropoutOp::buildInferenceForm(OpBuilder &builder) {
  return {getOperand(), splat(builder, getLoc(), tensorType(getMask()), 1.0)};
}
