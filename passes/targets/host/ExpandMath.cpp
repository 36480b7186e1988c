// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// ExpandMath: polynomials for the functions that LLVM would call one element at
// a time.
//
// Branches are selections and integers come from bits, so that loops vectorize
// and NaNs propagate. The bounds on the errors are in
// test/random-graphs/compiled/CompiledMathTest.cpp.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/targets/MathAttribute.h"
#include "passes/targets/host/ExpandFloat8.h"
#include "passes/targets/host/Passes.h"
#include <cmath>
#include <limits>

namespace ingot {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/targets/host/Passes.h.inc"
} // namespace ingot

using namespace mlir;

namespace {

/// Builders of f32 and i32 arithmetic.
struct Emitter {
  OpBuilder &b;
  Location loc;
  /// Whether the CPU has an instruction for x * 2^n.
  bool scales;
  /// Whether the GPU's approximation of 2^x is used.
  bool approximates;

  Value real(double value) const {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value whole(int32_t value) const {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  Value add(Value x, Value y) const {
    return arith::AddFOp::create(b, loc, x, y);
  }
  Value sub(Value x, Value y) const {
    return arith::SubFOp::create(b, loc, x, y);
  }
  Value mul(Value x, Value y) const {
    return arith::MulFOp::create(b, loc, x, y);
  }
  Value div(Value x, Value y) const {
    return arith::DivFOp::create(b, loc, x, y);
  }
  Value fma(Value x, Value y, Value z) const {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value abs(Value x) const { return math::AbsFOp::create(b, loc, x); }
  Value withSignOf(Value size, Value sign) const {
    return math::CopySignOp::create(b, loc, size, sign);
  }
  /// Emits an ordered comparison, which is false where an operand is NaN.
  Value less(Value x, Value y) const {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y);
  }
  Value equal(Value x, Value y) const {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
  }
  Value select(Value condition, Value x, Value y) const {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value toBits(Value x) const {
    return arith::BitcastOp::create(b, loc, b.getI32Type(), x);
  }
  Value fromBits(Value x) const {
    return arith::BitcastOp::create(b, loc, b.getF32Type(), x);
  }
  Value addWhole(Value x, Value y) const {
    return arith::AddIOp::create(b, loc, x, y);
  }
  Value subWhole(Value x, Value y) const {
    return arith::SubIOp::create(b, loc, x, y);
  }
  Value shiftRight(Value x, int32_t bits) const {
    return arith::ShRSIOp::create(b, loc, x, whole(bits));
  }
  Value shiftLeft(Value x, int32_t bits) const {
    return arith::ShLIOp::create(b, loc, x, whole(bits));
  }

  /// Emits the nearest number to x within bounds, or NaN.
  Value clamp(Value x, double least, double most) const {
    x = select(less(x, real(least)), real(least), x);
    return select(less(real(most), x), real(most), x);
  }
  /// Emits a polynomial (Horner's scheme) from the highest coefficient to the
  /// lowest.
  Value polynomial(Value x, ArrayRef<double> coefficients) const {
    Value sum = real(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, real(coefficient));
    return sum;
  }

  /// Emits 2^n for an integer n in the range of normal numbers.
  Value powerOfTwo(Value n) const {
    return fromBits(shiftLeft(addWhole(n, whole(127)), 23));
  }
  /// Emits x * 2^n, also where that is denormal or infinite.
  Value scale(Value x, Value n) const {
    if (scales)
      return LLVM::LoadExpOp::create(b, loc, x.getType(), x, n);
    Value half = shiftRight(n, 1);
    x = mul(x, powerOfTwo(half));
    return mul(x, powerOfTwo(subWhole(n, half)));
  }

  /// Emits 1 / x for an x of at least 1, or infinity.
  Value reciprocal(Value x) const;
  /// e^x as m * 2^n with m around 1, where n is in the range of integers.
  struct Power {
    Value m, n;
  };
  Power splitExp(Value x) const;
  Value exp(Value x) const;
  /// Emits e^x, or e^-40 and e^40 beyond.
  Value boundedExp(Value x) const;
  Value log(Value x) const;
  Value log1p(Value x) const;
  Value tanh(Value x) const;
  Value tanhToOne(Value x) const;
  Value erf(Value x) const;
};

Value Emitter::reciprocal(Value x) const {
  if (!approximates)
    return div(real(1), x);
  return LLVM::CallIntrinsicOp::create(
             b, loc, x.getType(), b.getStringAttr("llvm.nvvm.rcp.approx.ftz.f"),
             x)
      .getResult(0);
}

/// e^x = 2^n e^r with |r| <= ln(2)/2; coefficients from Cephes.
Emitter::Power Emitter::splitExp(Value x) const {
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
  Value magic = real(12582912.0);
  Value shifted = fma(x, real(1.44269504088896341), magic);
  Value n = subWhole(toBits(shifted), toBits(magic));
  Value whole = sub(shifted, magic);
  Value r = fma(whole, real(-0.693359375), x);
  r = fma(whole, real(2.12194440e-4), r);
  Value p = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                           4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  p = fma(p, mul(r, r), r);
  return {add(p, real(1)), n};
}

Value Emitter::exp(Value x) const {
  if (approximates) {
    Value power = mul(x, real(1.44269504088896341));
    return LLVM::CallIntrinsicOp::create(
               b, loc, x.getType(),
               b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), power)
        .getResult(0);
  }
  // Values beyond the bounds are infinite or 0 in any case.
  Power power = splitExp(clamp(x, -104, 89));
  return scale(power.m, power.n);
}

Value Emitter::boundedExp(Value x) const {
  if (approximates)
    return exp(x);
  Power power = splitExp(clamp(x, -40, 40));
  return mul(power.m, powerOfTwo(power.n));
}

/// log(2^n m) with m around 1; coefficients from Cephes.
Value Emitter::log(Value x) const {
  Value isDenormal = less(x, real(0x1p-126));
  Value scaled = select(isDenormal, mul(x, real(0x1p23)), x);
  Value bits = toBits(scaled);
  // The bits of the square root of 1/2 split the range at its middle.
  Value n = shiftRight(subWhole(bits, whole(0x3F3504F3)), 23);
  Value f = sub(fromBits(subWhole(bits, shiftLeft(n, 23))), real(1));
  n = addWhole(n, select(isDenormal, whole(-23), whole(0)));
  Value exponent = arith::SIToFPOp::create(b, loc, b.getF32Type(), n);
  Value square = mul(f, f);
  Value p = polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                           -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                           2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  p = mul(mul(p, f), square);
  p = fma(exponent, real(-2.12194440e-4), p);
  p = fma(square, real(-0.5), p);
  p = add(f, p);
  p = fma(exponent, real(0.693359375), p);
  double infinity = std::numeric_limits<double>::infinity();
  p = select(less(x, real(infinity)), p, x);
  p = select(less(x, real(0)), real(std::nan("")), p);
  return select(equal(x, real(0)), real(-infinity), p);
}

/// log(u) with u = 1 + x, plus a first-order correction of the rounding error
/// of u.
Value Emitter::log1p(Value x) const {
  Value u = add(x, real(1));
  // The smaller term of the sum is represented exactly, whichever that is.
  Value lost = select(less(x, real(1)), sub(x, sub(u, real(1))),
                      sub(real(1), sub(u, x)));
  Value rest = div(lost, u);
  // The correction is NaN where the logarithm is infinite.
  rest = select(less(abs(rest), real(1)), rest, real(0));
  // For u = 1 the result is x, with its sign if that is 0.
  return select(equal(u, real(1)), x, add(log(u), rest));
}

/// Around 0 a polynomial from Cephes, else 1 - 2 / (e^2|x| + 1).
Value Emitter::tanh(Value x) const {
  Value size = abs(x), square = mul(x, x);
  Value p = polynomial(square,
                       {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                        1.33314422036e-1, -3.33332819422e-1});
  Value small = fma(mul(p, square), x, x);
  Value power = boundedExp(add(size, size));
  Value sum = add(power, real(1));
  Value large = sub(real(1), approximates ? mul(real(2), reciprocal(sum))
                                          : div(real(2), sum));
  return select(less(size, real(0.625)), small, withSignOf(large, x));
}

/// With an error that is small beside 1, and not beside a result around 0.
Value Emitter::tanhToOne(Value x) const {
  Value power = exp(add(x, x));
  return fma(real(-2), reciprocal(add(power, real(1))), real(1));
}

/// Around 0 a polynomial, else 1 - e^q(|x|); coefficients by N. Juffa.
Value Emitter::erf(Value x) const {
  Value size = abs(x), square = mul(x, x);
  Value p = polynomial(square, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2,
                                1.12819925e-1, -3.76125336e-1, 1.28379166e-1});
  Value small = fma(p, x, x);
  Value q = polynomial(size, {-1.72853470e-5, 3.83197126e-4, -3.88396438e-3,
                              2.42546219e-2, -1.06777877e-1, -6.34846687e-1,
                              -1.28717512e-1});
  q = fma(q, size, sub(real(0), size));
  Value large = withSignOf(sub(real(1), boundedExp(q)), x);
  return select(less(real(0.927734375), size), large, small);
}

template <typename Op> struct Expand : OpRewritePattern<Op> {
  using Form = Value (Emitter::*)(Value) const;
  Expand(MLIRContext *context, Form form, bool scales, bool approximates)
      : OpRewritePattern<Op>(context), form(form), scales(scales),
        approximates(approximates) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Emitter emitter{rewriter, op.getLoc(), scales, approximates};
    rewriter.replaceOp(op, (emitter.*form)(op.getOperand()));
    return success();
  }

  Form form;
  bool scales, approximates;
};

/// Returns whether the op is the sum or difference of the value and a number of
/// at least 1 in magnitude, beside which the value's error counts.
bool addsToOne(Operation *op, Value value) {
  if (!isa<arith::AddFOp, arith::SubFOp>(op))
    return false;
  FloatAttr number;
  Value other = op->getOperand(op->getOperand(0) == value ? 1 : 0);
  return matchPattern(other, m_Constant(&number)) &&
         std::abs(number.getValueAsDouble()) >= 1;
}

/// In GELU and its gradient tanh(x) is part of 1 + tanh(x) and 1 - tanh(x)^2.
struct ExpandTanhToOne : OpRewritePattern<math::TanhOp> {
  ExpandTanhToOne(MLIRContext *context, bool scales)
      : OpRewritePattern(context, /*benefit=*/2), scales(scales) {}

  LogicalResult matchAndRewrite(math::TanhOp op,
                                PatternRewriter &rewriter) const override {
    Value result = op.getResult();
    auto isBesideOne = [&](Operation *user) {
      bool isSquare = isa<arith::MulFOp>(user) &&
                      user->getOperand(0) == user->getOperand(1);
      if (!isSquare)
        return addsToOne(user, result);
      return llvm::all_of(user->getUsers(), [&](Operation *reader) {
        return addsToOne(reader, user->getResult(0));
      });
    };
    if (!op.getType().isF32() || !llvm::all_of(result.getUsers(), isBesideOne))
      return failure();
    Emitter emitter{rewriter, op.getLoc(), scales, /*approximates=*/true};
    rewriter.replaceOp(op, emitter.tanhToOne(op.getOperand()));
    return success();
  }

  bool scales;
};

/// The type is unchanged elsewhere, where bf16 values are only moved.
struct RoundByInstruction : OpRewritePattern<arith::TruncFOp> {
  RoundByInstruction(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16() || !op.getIn().getType().isF32())
      return failure();
    Location loc = op.getLoc();
    Value rounded =
        LLVM::FPTruncOp::create(rewriter, loc, op.getType(), op.getIn());
    Value bits =
        LLVM::BitcastOp::create(rewriter, loc, rewriter.getI16Type(), rounded);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), bits);
    return success();
  }
};

/// Returns whether the op becomes a polynomial.
bool isExpanded(Operation *op) {
  return isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp,
             math::Log1pOp>(op) &&
         op->getResult(0).getType().isF32();
}

struct ExpandMath : ingot::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  /// Interleaves the iterations of an innermost loop with polynomials. Loops
  /// with sums have an order of their own. In loops with many polynomials, the
  /// values of several iterations do not fit the registers, and LLVM takes long
  /// to compile them.
  void interleaveLoop(scf::ForOp loop) {
    constexpr unsigned maxPolynomials = 4;
    unsigned polynomials = 0, loops = 0;
    loop.getBody()->walk([&](Operation *op) {
      polynomials += isExpanded(op);
      loops += isa<scf::ForOp>(op);
    });
    if (loops != 0 || polynomials == 0 || polynomials > maxPolynomials ||
        loop.getNumResults() != 0 ||
        loop->hasAttr(LLVM::LoopAnnotationAttr::getMnemonic()))
      return;
    MLIRContext *context = &getContext();
    auto count = IntegerAttr::get(IntegerType::get(context, 32), interleave);
    loop->setAttr(LLVM::LoopAnnotationAttr::getMnemonic(),
                  LLVM::LoopAnnotationAttr::get(
                      context, {}, {},
                      LLVM::LoopInterleaveAttr::get(context, count), {}, {}, {},
                      {}, {}, {}, {}, {}, {}, {}, {}, {}));
  }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    if (polynomials && interleave > 1)
      getOperation()->walk([&](scf::ForOp loop) { interleaveLoop(loop); });
    RewritePatternSet patterns(context);
    arith::populateExpandBFloat16Patterns(patterns);
    ingot::populateExpandFloat8Patterns(patterns, /*rounds=*/!roundFloat8);
    if (roundBf16)
      patterns.add<RoundByInstruction>(context);
    auto module = getOperation()->getParentOfType<ModuleOp>();
    bool isExact = module && module->hasAttr(ingot::kExactMathAttr);
    if (polynomials) {
      auto expand = [&]<typename Op>(Value (Emitter::*form)(Value) const) {
        patterns.add<Expand<Op>>(context, form, ldexp,
                                 approximateExp && !isExact);
      };
      expand.operator()<math::ExpOp>(&Emitter::exp);
      expand.operator()<math::LogOp>(&Emitter::log);
      expand.operator()<math::TanhOp>(&Emitter::tanh);
      if (approximateExp && !isExact)
        patterns.add<ExpandTanhToOne>(context, ldexp);
      expand.operator()<math::ErfOp>(&Emitter::erf);
      expand.operator()<math::Log1pOp>(&Emitter::log1p);
      // Sines of large arguments remain calls of the C library.
    }
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
