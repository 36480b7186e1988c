// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/builders/Builders.h"

using namespace mlir;
using namespace ingot;

Value ingot::splat(OpBuilder &builder, Location loc, RankedTensorType type,
                   double value) {
  Type element = type.getElementType();
  Attribute scalar;
  if (isa<FloatType>(element))
    scalar = builder.getFloatAttr(element, value);
  else
    scalar = IntegerAttr::get(element, static_cast<int64_t>(value));
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, scalar));
}

Value ingot::splatLike(OpBuilder &builder, Value like, double value) {
  return splat(builder, like.getLoc(), tensorType(like), value);
}

Value ingot::castTo(OpBuilder &builder, Location loc, Value value,
                    Type element) {
  RankedTensorType type = tensorType(value);
  if (type.getElementType() == element)
    return value;
  return CastOp::create(builder, loc, withElement(type, element), value);
}

Value ingot::reshapeTo(OpBuilder &builder, Location loc, Value value,
                       ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorType(value);
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value);
}

Value ingot::broadcastTo(OpBuilder &builder, Location loc, Value value,
                         ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  RankedTensorType type = tensorType(value);
  if (type.getShape() == shape)
    return value;
  return BroadcastOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      dims);
}

Value ingot::broadcastTrailing(OpBuilder &builder, Location loc, Value value,
                               ArrayRef<int64_t> shape) {
  int64_t rank = tensorType(value).getRank();
  int64_t offset = static_cast<int64_t>(shape.size()) - rank;
  return broadcastTo(
      builder, loc, value, shape,
      llvm::to_vector(llvm::seq<int64_t>(offset, offset + rank)));
}

Value ingot::sumOver(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> dims) {
  if (dims.empty())
    return value;
  return ReduceOp::create(builder, loc, dropDims(tensorType(value), dims),
                          ReductionKind::Sum, value, dims);
}

Value ingot::broadcastOver(OpBuilder &builder, Location loc, Value value,
                           ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t i = 0, e = shape.size(); i < e; ++i)
    if (!llvm::is_contained(dims, i))
      kept.push_back(i);
  return broadcastTo(builder, loc, value, shape, kept);
}

Value ingot::addOrNull(OpBuilder &builder, Location loc, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return AddOp::create(builder, loc, a, b);
}
