// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/host/ExpandFloat8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;

namespace {

/// The fields of an 8-bit float type.
struct Float8Format {
  explicit Float8Format(Type type) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(type).getFloatSemantics();
    mantissa =
        static_cast<int>(llvm::APFloat::semanticsPrecision(semantics)) - 1;
    smallest = llvm::APFloat::semanticsMinExponent(semantics);
    largest = static_cast<int32_t>(
        llvm::APFloat::getLargest(semantics).bitcastToAPInt().getZExtValue());
    isFinite = largest + 1 == nan;
  }

  static bool is(Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  }

  /// The bits of NaN without the sign, in either type.
  static constexpr int32_t nan = 0x7f;
  static constexpr int f32Mantissa = 23, f32Bias = 127;
  /// The bits of the mantissa, and the exponent of the smallest normal number.
  int mantissa, smallest;
  /// The bits of the largest number.
  int32_t largest;
  /// Whether there are no infinities.
  bool isFinite;
};

/// Rounds to the nearest, ties to even, and saturates.
struct RoundToFloat8 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!Float8Format::is(op.getType()) || !op.getIn().getType().isF32())
      return failure();
    Float8Format format(op.getType());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type i32 = b.getI32Type(), f32 = b.getF32Type();
    auto word = [&](int32_t value) -> Value {
      return arith::ConstantIntOp::create(b, i32, value);
    };
    int lost = Float8Format::f32Mantissa - format.mantissa;
    Value bits = arith::BitcastOp::create(b, i32, op.getIn());
    Value size = arith::AndIOp::create(b, bits, word(0x7fffffff));
    // The addition carries into the exponent, as it should.
    Value isOdd = arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, size, word(lost)), word(1));
    Value raised = arith::AddIOp::create(
        b, arith::AddIOp::create(b, size, word((1 << (lost - 1)) - 1)), isOdd);
    Value normal = arith::SubIOp::create(
        b, arith::ShRUIOp::create(b, raised, word(lost)),
        word((format.smallest - 1 + Float8Format::f32Bias) << format.mantissa));
    // f32 numbers near this one are as far from each other as the type's
    // subnormal numbers.
    auto near = static_cast<float>(std::ldexp(1.0, format.smallest + lost));
    Value shift = arith::ConstantOp::create(b, b.getF32FloatAttr(near));
    Value sum =
        arith::AddFOp::create(b, arith::BitcastOp::create(b, f32, size), shift);
    Value subnormal =
        arith::SubIOp::create(b, arith::BitcastOp::create(b, i32, sum),
                              word(llvm::bit_cast<int32_t>(near)));
    auto least = static_cast<float>(std::ldexp(1.0, format.smallest));
    Value isSubnormal =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, size,
                              word(llvm::bit_cast<int32_t>(least)));
    Value code = arith::SelectOp::create(b, isSubnormal, subnormal, normal);
    code = arith::MinSIOp::create(b, code, word(format.largest));
    constexpr int32_t infinity = 0x7f800000;
    Value isNaN = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, size,
                                        word(infinity));
    code = arith::SelectOp::create(b, isNaN, word(Float8Format::nan), code);
    constexpr int32_t signShift = 24;
    Value sign = arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, bits, word(signShift)), word(0x80));
    Value narrow = arith::TruncIOp::create(b, b.getI8Type(),
                                           arith::OrIOp::create(b, code, sign));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), narrow);
    return success();
  }
};

struct WidenFloat8 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType();
    if (!Float8Format::is(from) || !op.getType().isF32())
      return failure();
    Float8Format format(from);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type i32 = b.getI32Type(), f32 = b.getF32Type();
    auto word = [&](int32_t value) -> Value {
      return arith::ConstantIntOp::create(b, i32, value);
    };
    Value bits = arith::ExtUIOp::create(
        b, i32, arith::BitcastOp::create(b, b.getI8Type(), op.getIn()));
    Value size = arith::AndIOp::create(b, bits, word(0x7f));
    // With the type's exponent in that of f32, which the product corrects:
    // subnormal numbers too.
    Value shifted = arith::ShLIOp::create(
        b, size, word(Float8Format::f32Mantissa - format.mantissa));
    int bias = 1 - format.smallest;
    auto factor =
        static_cast<float>(std::ldexp(1.0, Float8Format::f32Bias - bias));
    Value value = arith::MulFOp::create(
        b, arith::BitcastOp::create(b, f32, shifted),
        arith::ConstantOp::create(b, b.getF32FloatAttr(factor)));
    Value isSpecial = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, size,
                                            word(format.largest));
    Value special = word(0x7fc00000);
    if (!format.isFinite) {
      Value isInfinite = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                               size, word(format.largest + 1));
      special =
          arith::SelectOp::create(b, isInfinite, word(0x7f800000), special);
    }
    Value wide = arith::SelectOp::create(
        b, isSpecial, special, arith::BitcastOp::create(b, i32, value));
    constexpr int32_t signShift = 24;
    Value sign = arith::ShLIOp::create(
        b, arith::AndIOp::create(b, bits, word(0x80)), word(signShift));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(
        op, f32, arith::OrIOp::create(b, wide, sign));
    return success();
  }
};

} // namespace

void ingot::populateExpandFloat8Patterns(RewritePatternSet &patterns,
                                         bool rounds) {
  patterns.add<WidenFloat8>(patterns.getContext());
  if (rounds)
    patterns.add<RoundToFloat8>(patterns.getContext());
}
