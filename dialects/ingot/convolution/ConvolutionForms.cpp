// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Decompositions of convolutions with normalizations around them.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/convolution/WindowLayout.h"

using namespace mlir;
using namespace ingot;

/// Returns max(input * scale + shift, 0), computed in f32 and rounded.
template <typename Op> static Value normalize(Arithmetic a, Op op) {
  Value input = op.getInput();
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  int64_t channels =
      WindowLayout{op.getChannelsLast()}.channelDim(shape.size());
  Type element = tensorType(input).getElementType();
  Type wide = element.getIntOrFloatBitWidth() < 32
                  ? Float32Type::get(element.getContext())
                  : element;
  auto spread = [&](Value perChannel) {
    return a.broadcast(a.cast(perChannel, wide), shape, {channels});
  };
  Value scaled = a.mul(a.cast(input, wide), spread(op.getScale()));
  return a.cast(a.max(a.add(scaled, spread(op.getShift())), 0.0), element);
}

SmallVector<Value> ConvStatisticsOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  Value input = getScale() ? normalize(a, *this) : getInput();
  Value result = ConvOp::create(builder, getLoc(), getResult().getType(), input,
                                getFilter(), getStrides(), getDilations(),
                                getPadLow(), getPadHigh(), getGroups(),
                                getChannelsLast(), getFilterChannelsLast());
  int64_t rank = tensorType(result).getRank();
  int64_t channels = WindowLayout{getChannelsLast()}.channelDim(rank);
  SmallVector<int64_t> others;
  for (int64_t d = 0; d < rank; ++d)
    if (d != channels)
      others.push_back(d);
  Type sum = tensorType(getSums()).getElementType();
  Value wide = a.cast(result, sum);
  return {result, a.sum(wide, others), a.sum(a.square(wide), others)};
}

SmallVector<Value> ConvScaledFilterGradOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  return {ConvFilterGradOp::create(
      builder, getLoc(), getResult().getType(), getOutputGrad(),
      normalize(a, *this), getStrides(), getDilations(), getPadLow(),
      getPadHigh(), getGroups(), getChannelsLast(), getFilterChannelsLast())};
}
