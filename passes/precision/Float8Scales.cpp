// SPDX-License-Identifier: Apache-2.0

#include "passes/precision/Float8Scales.h"

using namespace mlir;
using namespace ingot;

double ingot::getLargest(FloatType type) {
  return llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

Value ingot::getFloat8Scale(Arithmetic a, Value amax, Value largest) {
  MLIRContext *context = amax.getContext();
  auto f32 = Float32Type::get(context);
  Value quotient = a.div(largest, amax);
  // The reciprocal of the scale has to be a normal number.
  quotient = a.min(quotient, 0x1p126);
  Value bits = a.bitcast(quotient, IntegerType::get(context, 32));
  constexpr double exponentBits = 0x7f800000;
  bits = a.logicalAnd(bits, a.constantLike(bits, exponentBits));
  Value isZero = a.compare(Predicate::EQ, amax, 0.0);
  return a.select(isZero, 1.0, a.bitcast(bits, f32));
}

Float8Blocks::Float8Blocks(ArrayRef<int64_t> shape, ScaleLayout layout,
                           int64_t dim)
    : shape(shape), padded(shape), layout(layout), summed(dim) {
  constexpr int64_t run = 128, part = 32;
  for (auto [d, extent] : llvm::enumerate(shape)) {
    int64_t size = extent;
    bool isSummed = static_cast<int64_t>(d) == dim;
    bool isWhole = layout == ScaleLayout::Tensor;
    if (!isWhole && !isSummed && layout != ScaleLayout::Squares) {
      split.push_back(size);
      continue;
    }
    if (!isWhole) {
      int64_t block = std::min(layout == ScaleLayout::Tiles ? part : run, size);
      auto count = static_cast<int64_t>(llvm::divideCeil(size, block));
      padded[d] = count * block;
      split.push_back(count);
      size = block;
    }
    split.push_back(size);
    dims.push_back(static_cast<int64_t>(split.size()) - 1);
  }
}

/// Returns the tensor with zeros behind its elements.
static Value padTo(OpBuilder &builder, Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorType(value);
  if (type.getShape() == shape)
    return value;
  SmallVector<int64_t> none(shape.size()), high;
  for (auto [to, from] : llvm::zip_equal(shape, type.getShape()))
    high.push_back(to - from);
  return PadOp::create(builder, value.getLoc(), value, none, high, none,
                       llvm::APFloat(0.0));
}

Value Float8Blocks::maxOver(OpBuilder &builder, Arithmetic a,
                            Value magnitude) const {
  return a.maxOver(a.reshape(padTo(builder, magnitude, padded), split), dims);
}

Value Float8Blocks::expand(OpBuilder &builder, Arithmetic a,
                           Value value) const {
  Value all = a.reshape(a.broadcastOver(value, split, dims), padded);
  if (!isPadded())
    return all;
  return SliceOp::create(builder, value.getLoc(), all,
                         SmallVector<int64_t>(shape.size()), shape,
                         SmallVector<int64_t>(shape.size(), 1));
}

Value Float8Blocks::arrange(OpBuilder &builder, Arithmetic a,
                            Value value) const {
  if (layout == ScaleLayout::Tensor)
    return value;
  auto transpose = [&](Value x, ArrayRef<int64_t> order) -> Value {
    return TransposeOp::create(builder, x.getLoc(), x, order);
  };
  bool isInnerLast = summed == 1;
  // Runs are next to each other where they begin in the same column.
  if (isInnerLast == (layout == ScaleLayout::Runs))
    value = transpose(value, {1, 0});
  int64_t rows = shape[1 - summed], inner = shape[summed];
  ArrayRef<int64_t> want =
      ScaledMatmulOp::getScalesType(builder.getContext(), layout, rows, inner)
          .getShape();
  if (layout == ScaleLayout::Runs)
    return value;
  if (layout == ScaleLayout::Squares)
    return padTo(builder, value, want);
  // The exponents, which are all that powers of two have.
  constexpr double mantissa = 1 << 23;
  Value bytes = a.cast(a.div(a.bitcast(value, builder.getI32Type()), mantissa),
                       builder.getIntegerType(8, /*isSigned=*/false));
  int64_t tileRows = want[0], tileColumns = want[1], lines = want[2],
          groups = want[3], columns = want[4];
  bytes =
      padTo(builder, bytes, {tileRows * lines * groups, tileColumns * columns});
  bytes = a.reshape(bytes, {tileRows, groups, lines, tileColumns, columns});
  return transpose(bytes, {0, 3, 2, 1, 4});
}
