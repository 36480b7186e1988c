// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How ops that look elements up at indices are computed in parts: of the
// indices, of the dimensions beside the table's, and of the table.
//
// An index outside of a part of a table finds nothing there. What the parts
// find adds up to the result, as exactly one of them finds something.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/partition/PartitionModels.h"

using namespace mlir;
using namespace ingot;

namespace {

/// The indices of a table's part.
struct LocalIndices {
  /// Indices from the first element of the part on, and whether they are in it.
  Value indices, isInside;

  LocalIndices(OpBuilder &builder, Location loc, Value global, Value number,
               int64_t tableSize, int64_t partSize) {
    Arithmetic a(builder, loc);
    ArrayRef<int64_t> shape = tensorType(global).getShape();
    Type element = tensorType(global).getElementType();
    Value clamped =
        a.min(a.max(global, 0.0), static_cast<double>(tableSize - 1));
    Value first =
        a.cast(getFirstOfPart(builder, loc, number, partSize), element);
    indices = a.sub(clamped, a.fill(first, shape));
    isInside = a.logicalAnd(
        a.compare(Predicate::GE, indices, 0.0),
        a.compare(Predicate::LT, indices, static_cast<double>(partSize)));
  }

  /// Replaces what lies outside of the part by zero. The dimensions of the
  /// indices are those of the value from `dim` on.
  Value keepInside(OpBuilder &builder, Location loc, Value value,
                   int64_t dim) const {
    Arithmetic a(builder, loc);
    auto dims =
        llvm::to_vector(llvm::seq(dim, dim + tensorType(isInside).getRank()));
    Value wide = a.broadcast(isInside, tensorType(value).getShape(), dims);
    return a.select(wide, value, 0.0);
  }
};

bool hasZero(Value value) {
  return !tensorType(value).getElementType().isInteger(1);
}

/// Returns whether the table is split: the only factor for which places matter.
bool splitsTable(const Factor &factor) { return factor.isContiguous; }

/// Looks indices up in a part of the table. Their dimensions are those of the
/// result from `dim` on.
SmallVector<Value> lookUpPart(Operation *op, OpBuilder &builder,
                              const Factor &factor, int64_t parts,
                              ValueRange operands, Value number, int64_t dim) {
  if (!splitsTable(factor))
    return clonePart(builder, op, factor, parts, operands);
  LocalIndices local(builder, op->getLoc(), operands[1], number, factor.size,
                     factor.getPartSize(parts));
  SmallVector<Value> found =
      clonePart(builder, op, factor, parts, {operands[0], local.indices});
  return {local.keepInside(builder, op->getLoc(), found.front(), dim)};
}

struct GatherModel : PartitionModel<GatherOp, GatherModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto gather = cast<GatherOp>(op);
    FactorBuilder factors(op);
    RankedTensorType table = tensorType(gather.getOperand());
    RankedTensorType indices = tensorType(gather.getIndices());
    auto from = static_cast<int64_t>(gather.getDim());
    for (int64_t dim = 0; dim < table.getRank(); ++dim)
      if (dim != from)
        factors.add(Factor::Free, table.getDimSize(dim))
            .operand(0, dim)
            .result(0, dim < from ? dim : dim - 1 + indices.getRank());
    for (int64_t dim = 0; dim < indices.getRank(); ++dim)
      factors.add(Factor::Free, indices.getDimSize(dim))
          .operand(1, dim)
          .result(0, from + dim);
    if (hasZero(gather.getResult()))
      factors.add(Factor::Sum, table.getDimSize(from))
          .operand(0, from)
          .contiguous();
    return factors.take();
  }
  SmallVector<Value> buildPart(Operation *op, OpBuilder &builder,
                               const Factor &factor, int64_t parts,
                               ValueRange operands, Value number) const {
    return lookUpPart(op, builder, factor, parts, operands, number,
                      static_cast<int64_t>(cast<GatherOp>(op).getDim()));
  }
};

struct TakeAlongModel : PartitionModel<TakeAlongOp, TakeAlongModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto take = cast<TakeAlongOp>(op);
    FactorBuilder factors(op);
    RankedTensorType table = tensorType(take.getOperand());
    RankedTensorType indices = tensorType(take.getIndices());
    auto from = static_cast<int64_t>(take.getDim());
    for (int64_t dim = 0; dim < table.getRank(); ++dim) {
      factors.add(Factor::Free, indices.getDimSize(dim))
          .operand(1, dim)
          .result(0, dim);
      if (dim != from)
        factors.operand(0, dim);
    }
    if (hasZero(take.getResult()))
      factors.add(Factor::Sum, table.getDimSize(from))
          .operand(0, from)
          .contiguous();
    return factors.take();
  }
  SmallVector<Value> buildPart(Operation *op, OpBuilder &builder,
                               const Factor &factor, int64_t parts,
                               ValueRange operands, Value number) const {
    return lookUpPart(op, builder, factor, parts, operands, number, /*dim=*/0);
  }
};

struct ScatterAddModel : PartitionModel<ScatterAddOp, ScatterAddModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto scatter = cast<ScatterAddOp>(op);
    FactorBuilder factors(op);
    RankedTensorType result = tensorType(scatter.getResult());
    RankedTensorType indices = tensorType(scatter.getIndices());
    bool hasInit = scatter.getInit() != nullptr;
    auto to = static_cast<int64_t>(scatter.getDim());
    for (int64_t dim = 0; dim < result.getRank(); ++dim) {
      factors.add(Factor::Free, result.getDimSize(dim)).result(0, dim);
      if (hasInit)
        factors.operand(2, dim);
      if (dim == to)
        factors.contiguous();
      else
        factors.operand(1, dim < to ? dim : dim - 1 + indices.getRank());
    }
    // What is added to would be added once for each part.
    for (int64_t dim = 0; dim < indices.getRank() && !hasInit; ++dim)
      factors.add(Factor::Sum, indices.getDimSize(dim))
          .operand(0, dim)
          .operand(1, to + dim);
    return factors.take();
  }
  SmallVector<Value> buildPart(Operation *op, OpBuilder &builder,
                               const Factor &factor, int64_t parts,
                               ValueRange operands, Value number) const {
    if (!splitsTable(factor))
      return clonePart(builder, op, factor, parts, operands);
    auto dim = static_cast<int64_t>(cast<ScatterAddOp>(op).getDim());
    LocalIndices local(builder, op->getLoc(), operands[0], number, factor.size,
                       factor.getPartSize(parts));
    SmallVector<Value> adapted(operands);
    adapted[0] = local.indices;
    adapted[1] = local.keepInside(builder, op->getLoc(), operands[1], dim);
    return clonePart(builder, op, factor, parts, adapted);
  }
};

struct ScatterModel : PartitionModel<ScatterOp, ScatterModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto scatter = cast<ScatterOp>(op);
    FactorBuilder factors(op);
    RankedTensorType result = tensorType(scatter.getResult());
    bool isVector = tensorType(scatter.getIndices()).getRank() == 1;
    for (int64_t dim = 0; dim < result.getRank(); ++dim) {
      if (dim == static_cast<int64_t>(scatter.getDim()))
        continue;
      factors.add(Factor::Free, result.getDimSize(dim))
          .operand(0, dim)
          .operand(2, dim)
          .result(0, dim);
      if (!isVector)
        factors.operand(1, dim);
    }
    return factors.take();
  }
};

} // namespace

void ingot::attachLookupPartitions(MLIRContext &context) {
  GatherOp::attachInterface<GatherModel>(context);
  TakeAlongOp::attachInterface<TakeAlongModel>(context);
  ScatterAddOp::attachInterface<ScatterAddModel>(context);
  ScatterOp::attachInterface<ScatterModel>(context);
}
