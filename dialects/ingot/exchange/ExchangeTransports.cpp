// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges as those with library calls, around which elements are moved so
// that the parts of ranks are one after the other in memory, what ranks send
// for them, and which elements stay in their place.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/exchange/ExchangeOps.h"

using namespace mlir;
using namespace ingot;

static int64_t getRanks(Exchange op) {
  return Mesh::of(op).getSize(op.getExchangeAxes());
}

/// Returns a tensor with its dimension `from` moved to `to`.
static Value moveDim(OpBuilder &builder, Location loc, Value value,
                     int64_t from, int64_t to) {
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank()));
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return TransposeOp::create(builder, loc, value, order);
}

/// Returns the parts along a dimension one after the other: along the first.
static Value stackParts(OpBuilder &builder, Location loc, Value value,
                        int64_t dim, int64_t ranks) {
  if (dim == 0)
    return value;
  Arithmetic a(builder, loc);
  SmallVector<int64_t> shape(tensorType(value).getShape());
  shape[dim] /= ranks;
  SmallVector<int64_t> apart = shape, stacked = shape;
  apart.insert(apart.begin() + dim, ranks);
  stacked.front() *= ranks;
  return a.reshape(moveDim(builder, loc, a.reshape(value, apart), dim, 0),
                   stacked);
}

/// The inverse: joins what is one after the other along a dimension.
static Value joinParts(OpBuilder &builder, Location loc, Value value,
                       int64_t dim, int64_t ranks) {
  if (dim == 0)
    return value;
  Arithmetic a(builder, loc);
  SmallVector<int64_t> shape(tensorType(value).getShape());
  shape.front() /= ranks;
  SmallVector<int64_t> apart = shape, joined = shape;
  apart.insert(apart.begin(), ranks);
  joined[dim] *= ranks;
  return a.reshape(moveDim(builder, loc, a.reshape(value, apart), 0, dim),
                   joined);
}

/// Returns a type with another size of the first dimension.
static RankedTensorType withFirst(Value value, int64_t size) {
  SmallVector<int64_t> shape(tensorType(value).getShape());
  shape.front() = size;
  return RankedTensorType::get(shape, tensorType(value).getElementType());
}

Value AllReduceOp::buildTransport(OpBuilder &, function_ref<Value()>) {
  return getResult();
}

Value AllGatherOp::buildTransport(OpBuilder &builder, function_ref<Value()>) {
  auto dim = static_cast<int64_t>(getDim());
  if (dim == 0)
    return getResult();
  int64_t ranks = getRanks(*this);
  int64_t size = tensorType(getOperand()).getDimSize(0) * ranks;
  Value stacked =
      AllGatherOp::create(builder, getLoc(), withFirst(getOperand(), size),
                          getOperand(), /*dim=*/0, getAxes());
  return joinParts(builder, getLoc(), stacked, dim, ranks);
}

Value ReduceScatterOp::buildTransport(OpBuilder &builder,
                                      function_ref<Value()>) {
  auto dim = static_cast<int64_t>(getDim());
  if (dim == 0)
    return getResult();
  Value stacked =
      stackParts(builder, getLoc(), getOperand(), dim, getRanks(*this));
  return ReduceScatterOp::create(builder, getLoc(), getType(), getKind(),
                                 stacked, /*dim=*/0, getAxes());
}

Value AllToAllOp::buildTransport(OpBuilder &builder, function_ref<Value()>) {
  auto split = static_cast<int64_t>(getSplit());
  auto concat = static_cast<int64_t>(getConcat());
  if (split == 0 && concat == 0)
    return getResult();
  int64_t ranks = getRanks(*this);
  Value stacked = stackParts(builder, getLoc(), getOperand(), split, ranks);
  Value moved =
      AllToAllOp::create(builder, getLoc(), stacked.getType(), stacked,
                         /*split=*/0, /*concat=*/0, getAxes());
  return joinParts(builder, getLoc(), moved, concat, ranks);
}

Value PermuteOp::buildTransport(OpBuilder &, function_ref<Value()>) {
  return {};
}

Value PartOp::buildTransport(OpBuilder &builder,
                             function_ref<Value()> getPlace) {
  Arithmetic a(builder, getLoc());
  auto dim = static_cast<int64_t>(getDim());
  RankedTensorType type = tensorType(getResult());
  int64_t length = type.getDimSize(dim);
  Value first = a.mul(getPlace(), static_cast<double>(length));
  auto index = [&](RankedTensorType of, int64_t along) {
    return a.add(a.iota(of, along),
                 a.fill(a.cast(first, of.getElementType()), of.getShape()));
  };
  // A rank's part of an index is an index.
  if (auto iota = getOperand().getDefiningOp<IotaOp>()) {
    auto along = static_cast<int64_t>(iota.getDim());
    return along == dim ? index(type, dim) : a.iota(type, along);
  }
  Value rows = index(RankedTensorType::get({length}, builder.getI64Type()), 0);
  return GatherOp::create(builder, getLoc(), getOperand(), rows, dim);
}

static double countBytes(Exchange op) {
  return static_cast<double>(byteSize(tensorType(op->getOperand(0))));
}

/// The part of a tensor that belongs to other ranks.
static double getShare(int64_t ranks) {
  return static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

double AllReduceOp::getSentBytes(int64_t ranks) {
  return 2 * getShare(ranks) * countBytes(*this);
}
double AllGatherOp::getSentBytes(int64_t ranks) {
  return static_cast<double>(ranks - 1) * countBytes(*this);
}
double ReduceScatterOp::getSentBytes(int64_t ranks) {
  return getShare(ranks) * countBytes(*this);
}
double AllToAllOp::getSentBytes(int64_t ranks) {
  return getShare(ranks) * countBytes(*this);
}
double PermuteOp::getSentBytes(int64_t) { return countBytes(*this); }
double PartOp::getSentBytes(int64_t) { return 0; }

static bool isOther(int64_t dim, uint64_t of) {
  return dim != static_cast<int64_t>(of);
}

bool AllReduceOp::keepsDim(int64_t) { return true; }
bool AllGatherOp::keepsDim(int64_t dim) { return isOther(dim, getDim()); }
bool ReduceScatterOp::keepsDim(int64_t dim) { return isOther(dim, getDim()); }
bool AllToAllOp::keepsDim(int64_t dim) {
  return isOther(dim, getSplit()) && isOther(dim, getConcat());
}
bool PermuteOp::keepsDim(int64_t) { return true; }
bool PartOp::keepsDim(int64_t dim) { return isOther(dim, getDim()); }
