// SPDX-License-Identifier: Apache-2.0

#include "passes/partition/Moves.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"

using namespace mlir;
using namespace ingot;

RankedTensorType ingot::getLocalType(RankedTensorType type,
                                     const Placement &placement,
                                     int64_t parts) {
  SmallVector<int64_t> shape(type.getShape());
  if (placement.kind == Placement::Split)
    shape[placement.dim] = (shape[placement.dim] + placement.pad) / parts;
  return RankedTensorType::get(shape, type.getElementType());
}

/// The part that a rank has of the numbers of all.
Value Moves::buildNumber(OpBuilder &builder) const {
  Location loc = builder.getUnknownLoc();
  Type i64 = builder.getI64Type();
  Value all =
      IotaOp::create(builder, loc, RankedTensorType::get({parts}, i64), 0);
  Value own = PartOp::create(builder, loc, RankedTensorType::get({1}, i64), all,
                             uint64_t(0), getAxes());
  return reshapeTo(builder, loc, own, {});
}

static ReductionKind getReductionKind(Factor::Kind kind) {
  return kind == Factor::Max   ? ReductionKind::Max
         : kind == Factor::Min ? ReductionKind::Min
                               : ReductionKind::Sum;
}

Value Moves::move(OpBuilder &builder, Location loc, Value local,
                  const Placement &from, const Placement &to) const {
  if (from.kind == Placement::Whole)
    return takePart(builder, loc, local, to);
  bool isOne = to.segments.size() == 1 && to.pad == 0 && from.pad == 0;
  if (from.kind == Placement::Partial && to.kind == Placement::Split)
    return ReduceScatterOp::create(
        builder, loc, getLocalType(tensorType(local), to, parts),
        getReductionKind(from.combination), stackParts(builder, loc, local, to),
        to.dim, getAxes());
  if (from.kind == Placement::Split && to.kind == Placement::Split && isOne &&
      from.segments.size() == 1 && from.dim != to.dim) {
    SmallVector<int64_t> shape(tensorType(local).getShape());
    shape[from.dim] *= parts;
    shape[to.dim] /= parts;
    return AllToAllOp::create(
        builder, loc,
        RankedTensorType::get(shape, tensorType(local).getElementType()), local,
        to.dim, from.dim, getAxes());
  }
  Value whole = joinWhole(builder, loc, local, from);
  return to.kind == Placement::Split ? takePart(builder, loc, whole, to)
                                     : whole;
}

/// Returns a range of a dimension.
static Value sliceDim(OpBuilder &builder, Location loc, Value value,
                      int64_t dim, int64_t first, int64_t size) {
  SmallVector<int64_t> limits(tensorType(value).getShape());
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  starts[dim] = first;
  limits[dim] = first + size;
  return SliceOp::create(builder, loc, value, starts, limits, strides);
}

Value Moves::joinWhole(OpBuilder &builder, Location loc, Value local,
                       const Placement &from) const {
  if (from.kind == Placement::Partial)
    return AllReduceOp::create(builder, loc, local.getType(),
                               getReductionKind(from.combination), local,
                               getAxes(), FlatSymbolRefAttr());
  SmallVector<int64_t> shape(tensorType(local).getShape());
  int64_t own = shape[from.dim];
  shape[from.dim] *= parts;
  Value gathered = AllGatherOp::create(
      builder, loc,
      RankedTensorType::get(shape, tensorType(local).getElementType()), local,
      from.dim, getAxes());
  if (from.segments.size() == 1)
    return from.pad == 0 ? gathered
                         : sliceDim(builder, loc, gathered, from.dim, 0,
                                    from.segments.front());
  // The parts of a segment are apart.
  SmallVector<Value> pieces;
  int64_t first = 0;
  for (int64_t size : from.segments) {
    for (int64_t part = 0; part < parts; ++part)
      pieces.push_back(sliceDim(builder, loc, gathered, from.dim,
                                part * own + first, size / parts));
    first += size / parts;
  }
  return ConcatOp::create(builder, loc, pieces, from.dim);
}

static Value padDim(OpBuilder &builder, Location loc, Value value,
                    const Placement &to) {
  if (to.pad == 0)
    return value;
  SmallVector<int64_t> none(tensorType(value).getRank(), 0), high(none);
  high[to.dim] = to.pad;
  return PadOp::create(builder, loc, value, none, high, none,
                       llvm::APFloat(0.0));
}

/// Returns the parts of all ranks one after the other.
Value Moves::stackParts(OpBuilder &builder, Location loc, Value whole,
                        const Placement &to) const {
  if (to.segments.size() == 1)
    return padDim(builder, loc, whole, to);
  SmallVector<Value> pieces;
  for (int64_t part = 0; part < parts; ++part) {
    int64_t first = 0;
    for (int64_t size : to.segments) {
      int64_t length = size / parts;
      pieces.push_back(
          sliceDim(builder, loc, whole, to.dim, first + part * length, length));
      first += size;
    }
  }
  return ConcatOp::create(builder, loc, pieces, to.dim);
}

Value Moves::takePart(OpBuilder &builder, Location loc, Value whole,
                      const Placement &to) const {
  if (to.pad != 0) {
    Value padded = padDim(builder, loc, whole, to);
    return takePart(builder, loc, padded,
                    Placement::split(to.dim, to.segments.front() + to.pad));
  }
  SmallVector<Value> pieces;
  int64_t first = 0;
  for (int64_t size : to.segments) {
    Value segment = to.segments.size() == 1
                        ? whole
                        : sliceDim(builder, loc, whole, to.dim, first, size);
    SmallVector<int64_t> shape(tensorType(segment).getShape());
    shape[to.dim] /= parts;
    pieces.push_back(PartOp::create(
        builder, loc,
        RankedTensorType::get(shape, tensorType(segment).getElementType()),
        segment, to.dim, getAxes()));
    first += size;
  }
  if (pieces.size() == 1)
    return pieces.front();
  return ConcatOp::create(builder, loc, pieces, to.dim);
}
