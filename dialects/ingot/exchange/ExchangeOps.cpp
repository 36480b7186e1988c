// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification and folding of exchanges over axes; constraints are those of
// docs/spec/exchange.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Extensions.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;

#include "dialects/ingot/exchange/ExchangeInterface.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/ingot/exchange/Exchange.cpp.inc"

void ingot::addExchanges(Dialect &dialect) {
  RegisteredOperationName::insert<AllReduceOp>(dialect);
  RegisteredOperationName::insert<AllGatherOp>(dialect);
  RegisteredOperationName::insert<ReduceScatterOp>(dialect);
  RegisteredOperationName::insert<AllToAllOp>(dialect);
  RegisteredOperationName::insert<PermuteOp>(dialect);
  RegisteredOperationName::insert<PartOp>(dialect);
}

void AllReduceOp::build(OpBuilder &builder, OperationState &state,
                        ReductionKind kind, Value operand,
                        ArrayRef<int64_t> axes, FlatSymbolRefAttr gradientOf) {
  build(builder, state, operand.getType(), kind, operand, axes, gradientOf);
}

static LogicalResult checkAxes(Exchange op) {
  ArrayRef<int64_t> axes = op.getExchangeAxes();
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t axis : axes)
    if (axis < 0 || axis >= static_cast<int64_t>(kNumAxes) ||
        !seen.insert(axis).second)
      return op->emitOpError("C1: an exchange is over one or more different "
                             "axes");
  if (axes.empty())
    return op->emitOpError("C1: an exchange is over one or more different "
                           "axes");
  return success();
}

static LogicalResult checkKind(Operation *op, ReductionKind kind) {
  if (kind == ReductionKind::Prod)
    return op->emitOpError("C2: ranks exchange sums, maxima or minima");
  return success();
}

/// Checks the type of a result whose dimension `splits` has one of as many
/// parts as there are ranks, and whose dimension `joins` has the parts of all;
/// -1 for none.
static LogicalResult checkParts(Exchange op, int64_t splits, int64_t joins) {
  if (failed(checkAxes(op)))
    return failure();
  RankedTensorType from = tensorType(op->getOperand(0));
  RankedTensorType to = tensorType(op->getResult(0));
  for (int64_t dim : {splits, joins})
    if (dim >= from.getRank() || dim < -1)
      return op->emitOpError("C3: ") << from << " has no dimension " << dim;
  int64_t ranks = Mesh::of(op).getSize(op.getExchangeAxes());
  if (ranks == Mesh::kAny)
    return op->emitOpError("C3: shapes cannot depend on the ranks of an axis "
                           "whose number a run decides");
  SmallVector<int64_t> shape(from.getShape());
  if (splits >= 0) {
    if (shape[splits] % ranks != 0)
      return op->emitOpError("C3: dimension ")
             << splits << " of " << from << " has no " << ranks
             << " equal parts";
    shape[splits] /= ranks;
  }
  if (joins >= 0)
    shape[joins] *= ranks;
  auto want = RankedTensorType::get(shape, from.getElementType());
  if (to != want)
    return op->emitOpError("C3: the result must have type ")
           << want << ", got " << to;
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(checkAxes(*this)))
    return failure();
  return checkKind(*this, getKind());
}
LogicalResult AllGatherOp::verify() {
  return checkParts(*this, /*splits=*/-1, static_cast<int64_t>(getDim()));
}
LogicalResult ReduceScatterOp::verify() {
  if (failed(checkKind(*this, getKind())))
    return failure();
  return checkParts(*this, static_cast<int64_t>(getDim()), /*joins=*/-1);
}
LogicalResult AllToAllOp::verify() {
  return checkParts(*this, static_cast<int64_t>(getSplit()),
                    static_cast<int64_t>(getConcat()));
}
LogicalResult PermuteOp::verify() {
  if (failed(checkAxes(*this)))
    return failure();
  if (getAxes().size() != 1)
    return emitOpError("C4: a ring is along one axis, got ")
           << getAxes().size();
  return success();
}
LogicalResult PartOp::verify() {
  return checkParts(*this, static_cast<int64_t>(getDim()), /*joins=*/-1);
}

/// Among one rank, an exchange gives its operand.
static OpFoldResult foldAlone(Exchange op) {
  bool isAlone = Mesh::of(op).getSize(op.getExchangeAxes()) == 1;
  return isAlone ? op->getOperand(0) : OpFoldResult();
}

OpFoldResult AllReduceOp::fold(FoldAdaptor) { return foldAlone(*this); }
OpFoldResult AllGatherOp::fold(FoldAdaptor) { return foldAlone(*this); }
OpFoldResult ReduceScatterOp::fold(FoldAdaptor) { return foldAlone(*this); }
OpFoldResult AllToAllOp::fold(FoldAdaptor) { return foldAlone(*this); }
OpFoldResult PermuteOp::fold(FoldAdaptor) { return foldAlone(*this); }
OpFoldResult PartOp::fold(FoldAdaptor) { return foldAlone(*this); }
