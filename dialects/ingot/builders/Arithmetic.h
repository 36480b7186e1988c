// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Builders with which gradients, decompositions, losses and optimizers are
// written as formulas.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_BUILDERS_ARITHMETIC_H
#define INGOT_DIALECTS_INGOT_BUILDERS_ARITHMETIC_H

#include "dialects/ingot/builders/Builders.h"

namespace ingot {

/// Emits ops at the insertion point of a builder, all with one location. The
/// operands of an op have one type; a `double` stands for a constant of the
/// type of the other operand.
class Arithmetic {
public:
  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  using Value = mlir::Value;

  Value constant(mlir::RankedTensorType type, double value) {
    return splat(builder, loc, type, value);
  }
  Value constantLike(Value like, double value) {
    return constant(tensorType(like), value);
  }

  Value add(Value a, Value b) { return emit<AddOp>(a, b); }
  Value sub(Value a, Value b) { return emit<SubOp>(a, b); }
  Value mul(Value a, Value b) { return emit<MulOp>(a, b); }
  Value div(Value a, Value b) { return emit<DivOp>(a, b); }
  Value max(Value a, Value b) { return emit<MaxOp>(a, b); }
  Value min(Value a, Value b) { return emit<MinOp>(a, b); }
  Value pow(Value a, Value b) { return emit<PowOp>(a, b); }
  Value logicalAnd(Value a, Value b) { return emit<AndOp>(a, b); }

  Value add(Value a, double b) { return add(a, constantLike(a, b)); }
  Value sub(Value a, double b) { return sub(a, constantLike(a, b)); }
  Value sub(double a, Value b) { return sub(constantLike(b, a), b); }
  Value mul(Value a, double b) { return mul(a, constantLike(a, b)); }
  Value div(Value a, double b) { return div(a, constantLike(a, b)); }
  Value div(double a, Value b) { return div(constantLike(b, a), b); }
  Value max(Value a, double b) { return max(a, constantLike(a, b)); }
  Value min(Value a, double b) { return min(a, constantLike(a, b)); }

  Value neg(Value x) { return emit<NegOp>(x); }
  Value abs(Value x) { return emit<AbsOp>(x); }
  Value sign(Value x) { return emit<SignOp>(x); }
  Value exp(Value x) { return emit<ExpOp>(x); }
  Value log(Value x) { return emit<LogOp>(x); }
  Value log1p(Value x) { return emit<Log1pOp>(x); }
  Value sqrt(Value x) { return emit<SqrtOp>(x); }
  Value rsqrt(Value x) { return emit<RsqrtOp>(x); }
  Value sin(Value x) { return emit<SinOp>(x); }
  Value cos(Value x) { return emit<CosOp>(x); }
  Value square(Value x) { return mul(x, x); }

  Value compare(Predicate predicate, Value a, Value b) {
    return CompareOp::create(builder, loc,
                             withElement(tensorType(a), builder.getI1Type()),
                             predicate, a, b);
  }
  Value compare(Predicate predicate, Value a, double b) {
    return compare(predicate, a, constantLike(a, b));
  }
  Value select(Value condition, Value a, Value b) {
    return SelectOp::create(builder, loc, a.getType(), condition, a, b);
  }
  Value select(Value condition, Value a, double b) {
    return select(condition, a, constantLike(a, b));
  }
  Value select(Value condition, double a, Value b) {
    return select(condition, constantLike(b, a), b);
  }

  Value cast(Value x, mlir::Type element) {
    return castTo(builder, loc, x, element);
  }
  Value bitcast(Value x, mlir::Type element) {
    return BitcastOp::create(builder, loc, withElement(tensorType(x), element),
                             x);
  }
  Value reshape(Value x, llvm::ArrayRef<int64_t> shape) {
    return reshapeTo(builder, loc, x, shape);
  }
  /// Returns a scalar broadcast to `shape`.
  Value fill(Value scalar, llvm::ArrayRef<int64_t> shape) {
    return broadcastTo(builder, loc, scalar, shape, {});
  }
  Value broadcast(Value x, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> dims) {
    return broadcastTo(builder, loc, x, shape, dims);
  }
  /// Returns `x` broadcast over `dims`: the inverse of a reduction.
  Value broadcastOver(Value x, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> dims) {
    return ingot::broadcastOver(builder, loc, x, shape, dims);
  }
  Value sum(Value x, llvm::ArrayRef<int64_t> dims) {
    return sumOver(builder, loc, x, dims);
  }
  Value sumAll(Value x) { return sum(x, allDims(x)); }
  Value maxOver(Value x, llvm::ArrayRef<int64_t> dims) {
    if (dims.empty())
      return x;
    return ReduceOp::create(builder, loc, dropDims(tensorType(x), dims),
                            ReductionKind::Max, x, dims);
  }
  Value iota(mlir::RankedTensorType type, int64_t dim) {
    return IotaOp::create(builder, loc, type, dim);
  }

  static llvm::SmallVector<int64_t> allDims(Value x) {
    return llvm::to_vector(llvm::seq<int64_t>(0, tensorType(x).getRank()));
  }

private:
  template <typename Op> Value emit(Value a, Value b) {
    return Op::create(builder, loc, a.getType(), a, b);
  }
  template <typename Op> Value emit(Value x) {
    return Op::create(builder, loc, x.getType(), x);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Returns the element type in which statistics and exponentials are computed:
/// f32 for 16-bit tensors, because rounding the intermediate values costs more
/// accuracy than the casts cost time.
inline mlir::Type computeElement(mlir::Value value) {
  auto element =
      llvm::cast<mlir::FloatType>(tensorType(value).getElementType());
  if (element.getWidth() < 32)
    return mlir::Float32Type::get(element.getContext());
  return element;
}

/// Returns `value` in the precision of `computeElement`; null stays null.
inline mlir::Value widen(Arithmetic a, mlir::Value value) {
  return value ? a.cast(value, computeElement(value)) : value;
}

/// Returns `value` in the element type of `like`.
inline mlir::Value narrow(Arithmetic a, mlir::Value value, mlir::Value like) {
  return a.cast(value, tensorType(like).getElementType());
}

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_BUILDERS_ARITHMETIC_H
