// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Scalar code for one element of each elementwise op.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace ingot;

using Elements = SmallVector<Value>;

namespace {
bool isFloat(Value element) { return isa<FloatType>(element.getType()); }

/// Elements of unsigned tensors have signless types in generated code.
bool isUnsigned(Value tensor) {
  return tensorType(tensor).getElementType().isUnsignedInteger();
}
} // namespace

#define INGOT_MATH_BODY(OP, MATH)                                              \
  Elements OP::emitElements(OpBuilder &b, Location loc, ValueRange indices,    \
                            ElementSource load) {                              \
    return {MATH::create(b, loc, load(0, indices))};                           \
  }
INGOT_MATH_BODY(ExpOp, math::ExpOp)
INGOT_MATH_BODY(LogOp, math::LogOp)
INGOT_MATH_BODY(Log1pOp, math::Log1pOp)
INGOT_MATH_BODY(SqrtOp, math::SqrtOp)
INGOT_MATH_BODY(TanhOp, math::TanhOp)
INGOT_MATH_BODY(ErfOp, math::ErfOp)
INGOT_MATH_BODY(AtanOp, math::AtanOp)
INGOT_MATH_BODY(SinOp, math::SinOp)
INGOT_MATH_BODY(CosOp, math::CosOp)
INGOT_MATH_BODY(FloorOp, math::FloorOp)
INGOT_MATH_BODY(CeilOp, math::CeilOp)
INGOT_MATH_BODY(RoundOp, math::RoundEvenOp)
#undef INGOT_MATH_BODY

#define INGOT_NUMBER_BODY(OP, FLOAT, INTEGER)                                  \
  Elements OP::emitElements(OpBuilder &b, Location loc, ValueRange indices,    \
                            ElementSource load) {                              \
    Value lhs = load(0, indices), rhs = load(1, indices);                      \
    if (isFloat(lhs))                                                          \
      return {FLOAT::create(b, loc, lhs, rhs)};                                \
    return {INTEGER::create(b, loc, lhs, rhs)};                                \
  }
INGOT_NUMBER_BODY(AddOp, arith::AddFOp, arith::AddIOp)
INGOT_NUMBER_BODY(SubOp, arith::SubFOp, arith::SubIOp)
INGOT_NUMBER_BODY(MulOp, arith::MulFOp, arith::MulIOp)
#undef INGOT_NUMBER_BODY

#define INGOT_LOGICAL_BODY(OP, ARITH)                                          \
  Elements OP::emitElements(OpBuilder &b, Location loc, ValueRange indices,    \
                            ElementSource load) {                              \
    return {ARITH::create(b, loc, load(0, indices), load(1, indices))};        \
  }
INGOT_LOGICAL_BODY(AndOp, arith::AndIOp)
INGOT_LOGICAL_BODY(OrOp, arith::OrIOp)
INGOT_LOGICAL_BODY(XorOp, arith::XOrIOp)
#undef INGOT_LOGICAL_BODY

Elements MaxOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  Value lhs = load(0, indices), rhs = load(1, indices);
  if (isFloat(lhs))
    return {arith::MaximumFOp::create(b, loc, lhs, rhs)};
  if (isUnsigned(getLhs()))
    return {arith::MaxUIOp::create(b, loc, lhs, rhs)};
  return {arith::MaxSIOp::create(b, loc, lhs, rhs)};
}

Elements MinOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  Value lhs = load(0, indices), rhs = load(1, indices);
  if (isFloat(lhs))
    return {arith::MinimumFOp::create(b, loc, lhs, rhs)};
  if (isUnsigned(getLhs()))
    return {arith::MinUIOp::create(b, loc, lhs, rhs)};
  return {arith::MinSIOp::create(b, loc, lhs, rhs)};
}

/// Emits an integer division or remainder whose divisor cannot trap: dividing
/// by 0 yields 0, and by -1, which overflows for the lowest value,
/// `byMinusOne`.
template <typename Signed, typename Unsigned>
static Value emitIntegerQuotient(OpBuilder &b, Location loc, Value lhs,
                                 Value rhs, bool isUnsigned,
                                 function_ref<Value()> byMinusOne) {
  ScalarEmitter e{b, loc};
  Value zero = e.constant(lhs.getType(), 0);
  Value one = e.constant(lhs.getType(), 1);
  Value isZero = e.compare(arith::CmpIPredicate::eq, rhs, zero);
  Value divisor = arith::SelectOp::create(b, loc, isZero, one, rhs);
  Value quotient;
  if (isUnsigned) {
    quotient = Unsigned::create(b, loc, lhs, divisor);
  } else {
    Value isMinusOne =
        e.compare(arith::CmpIPredicate::eq, rhs, e.constant(lhs.getType(), -1));
    divisor = arith::SelectOp::create(b, loc, isMinusOne, one, divisor);
    quotient = Signed::create(b, loc, lhs, divisor);
    quotient =
        arith::SelectOp::create(b, loc, isMinusOne, byMinusOne(), quotient);
  }
  return arith::SelectOp::create(b, loc, isZero, zero, quotient);
}

Elements DivOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  Value lhs = load(0, indices), rhs = load(1, indices);
  if (isFloat(lhs))
    return {arith::DivFOp::create(b, loc, lhs, rhs)};
  Value zero = ScalarEmitter{b, loc}.constant(lhs.getType(), 0);
  return {emitIntegerQuotient<arith::DivSIOp, arith::DivUIOp>(
      b, loc, lhs, rhs, isUnsigned(getLhs()),
      [&] { return arith::SubIOp::create(b, loc, zero, lhs); })};
}

Elements RemOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  Value lhs = load(0, indices), rhs = load(1, indices);
  if (isFloat(lhs))
    return {arith::RemFOp::create(b, loc, lhs, rhs)};
  Value zero = ScalarEmitter{b, loc}.constant(lhs.getType(), 0);
  return {emitIntegerQuotient<arith::RemSIOp, arith::RemUIOp>(
      b, loc, lhs, rhs, isUnsigned(getLhs()), [&] { return zero; })};
}

Elements PowOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  // Models mostly contain squares and cubes; pow itself is a call.
  DenseElementsAttr exponent;
  Value base = load(0, indices);
  if (matchPattern(getRhs(), m_Constant(&exponent)) && exponent.isSplat()) {
    double value = exponent.getSplatValue<APFloat>().convertToDouble();
    if (value == 2.0 || value == 3.0) {
      Value square = arith::MulFOp::create(b, loc, base, base);
      if (value == 2.0)
        return {square};
      return {arith::MulFOp::create(b, loc, square, base)};
    }
  }
  return {math::PowFOp::create(b, loc, base, load(1, indices))};
}

Elements NegOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  Value x = load(0, indices);
  if (isFloat(x))
    return {arith::NegFOp::create(b, loc, x)};
  Value zero = ScalarEmitter{b, loc}.constant(x.getType(), 0);
  return {arith::SubIOp::create(b, loc, zero, x)};
}

Elements AbsOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  Value x = load(0, indices);
  if (isFloat(x))
    return {math::AbsFOp::create(b, loc, x)};
  if (isUnsigned(getOperand()))
    return {x};
  return {math::AbsIOp::create(b, loc, x)};
}

Elements SignOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                              ElementSource load) {
  ScalarEmitter e{b, loc};
  Value x = load(0, indices);
  Type type = x.getType();
  Value zero = e.constant(type, 0);
  if (isFloat(x)) {
    Value one = e.constant(type, 1);
    Value signed1 = math::CopySignOp::create(b, loc, one, x);
    // Unordered or equal to zero: x itself, which is NaN or zero.
    Value keep =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UEQ, x, zero);
    return {arith::SelectOp::create(b, loc, keep, x, signed1)};
  }
  auto below = isUnsigned(getOperand()) ? arith::CmpIPredicate::ult
                                        : arith::CmpIPredicate::slt;
  auto above = isUnsigned(getOperand()) ? arith::CmpIPredicate::ugt
                                        : arith::CmpIPredicate::sgt;
  Value positive = arith::SelectOp::create(b, loc, e.compare(above, x, zero),
                                           e.constant(type, 1), zero);
  return {arith::SelectOp::create(b, loc, e.compare(below, x, zero),
                                  e.constant(type, -1), positive)};
}

Elements RsqrtOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                               ElementSource load) {
  Value x = load(0, indices);
  Value one = ScalarEmitter{b, loc}.constant(x.getType(), 1);
  Value root = math::SqrtOp::create(b, loc, x);
  return {arith::DivFOp::create(b, loc, one, root)};
}

Elements LogisticOp::emitElements(OpBuilder &b, Location loc,
                                  ValueRange indices, ElementSource load) {
  // Computes 1 / (1 + e^-x), or e^x / (1 + e^x) below 0, so that nothing
  // overflows.
  ScalarEmitter e{b, loc};
  Value x = load(0, indices);
  Value zero = e.constant(x.getType(), 0), one = e.constant(x.getType(), 1);
  Value size = math::AbsFOp::create(b, loc, x);
  Value decay =
      math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, size));
  Value isBelow =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, zero);
  Value top = arith::SelectOp::create(b, loc, isBelow, decay, one);
  Value sum = arith::AddFOp::create(b, loc, one, decay);
  Value quotient = arith::DivFOp::create(b, loc, top, sum);
  // The rounding error of the sum, which is most of the error.
  Value kept = arith::SubFOp::create(b, loc, sum, one);
  Value lost = arith::SubFOp::create(b, loc, decay, kept);
  Value opposite = arith::NegFOp::create(b, loc, quotient);
  return {math::FmaOp::create(b, loc, opposite, lost, quotient)};
}

Elements NotOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  Value x = load(0, indices);
  Value ones = ScalarEmitter{b, loc}.constant(x.getType(), -1);
  return {arith::XOrIOp::create(b, loc, x, ones)};
}

Elements ShiftLeftOp::emitElements(OpBuilder &b, Location loc,
                                   ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  Value x = load(0, indices), places = load(1, indices);
  Type type = x.getType();
  Value zero = e.constant(type, 0);
  Value inside = e.compare(arith::CmpIPredicate::ult, places,
                           e.constant(type, type.getIntOrFloatBitWidth()));
  Value safe = arith::SelectOp::create(b, loc, inside, places, zero);
  Value shifted = arith::ShLIOp::create(b, loc, x, safe);
  return {arith::SelectOp::create(b, loc, inside, shifted, zero)};
}

Elements ShiftRightOp::emitElements(OpBuilder &b, Location loc,
                                    ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  Value x = load(0, indices), places = load(1, indices);
  Type type = x.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  Value inside =
      e.compare(arith::CmpIPredicate::ult, places, e.constant(type, width));
  // All bits of a signed integer that is shifted by its width are the sign.
  Value most = e.constant(type, width - 1);
  Value safe = arith::SelectOp::create(b, loc, inside, places, most);
  if (!isUnsigned(getLhs()))
    return {arith::ShRSIOp::create(b, loc, x, safe)};
  Value shifted = arith::ShRUIOp::create(b, loc, x, safe);
  return {
      arith::SelectOp::create(b, loc, inside, shifted, e.constant(type, 0))};
}

Elements BitcastOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                 ElementSource load) {
  Value x = load(0, indices);
  Type type = codeType(tensorType(getResult()).getElementType());
  if (x.getType() == type)
    return {x};
  return {arith::BitcastOp::create(b, loc, type, x)};
}

Elements CompareOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                 ElementSource load) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT,
                                 F::OLE, F::OGT, F::OGE};
  static constexpr I signeds[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I unsigneds[] = {I::eq,  I::ne,  I::ult,
                                    I::ule, I::ugt, I::uge};
  auto which = static_cast<unsigned>(getPredicate());
  Value lhs = load(0, indices), rhs = load(1, indices);
  if (isFloat(lhs))
    return {arith::CmpFOp::create(b, loc, floats[which], lhs, rhs)};
  bool noSign = isUnsigned(getLhs()) || lhs.getType().isInteger(1);
  return {arith::CmpIOp::create(
      b, loc, noSign ? unsigneds[which] : signeds[which], lhs, rhs)};
}

Elements SelectOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                ElementSource load) {
  return {arith::SelectOp::create(b, loc, load(0, indices), load(1, indices),
                                  load(2, indices))};
}

Elements StraightThroughOp::emitElements(OpBuilder &, Location,
                                         ValueRange indices,
                                         ElementSource load) {
  return {load(1, indices)};
}

Elements StochasticRoundOp::emitElements(OpBuilder &b, Location loc,
                                         ValueRange indices,
                                         ElementSource load) {
  // f32 numbers are ordered by magnitude as their bits are, and bf16 is their
  // upper half: the lower half is the distance to the bf16 number.
  ScalarEmitter e{b, loc};
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  auto word = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };
  Value x = load(0, indices), drawn = load(1, indices);
  Value bits = arith::BitcastOp::create(b, loc, i32, x);
  Value scaled = arith::MulFOp::create(b, loc, drawn, e.constant(f32, 65536));
  Value raised = arith::AddIOp::create(
      b, loc, bits, arith::FPToSIOp::create(b, loc, i32, scaled));
  // Infinities are unchanged, and the largest number has no successor.
  Value exponent = word(0x7f800000);
  Value isInfinite =
      e.compare(arith::CmpIPredicate::eq,
                arith::AndIOp::create(b, loc, raised, exponent), exponent);
  raised = arith::SelectOp::create(b, loc, isInfinite, bits, raised);
  Value upper = arith::TruncIOp::create(
      b, loc, b.getI16Type(), arith::ShRUIOp::create(b, loc, raised, word(16)));
  Value rounded = arith::BitcastOp::create(b, loc, b.getBF16Type(), upper);
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  return {arith::SelectOp::create(b, loc, isNaN,
                                  e.convertFloat(x, b.getBF16Type()), rounded)};
}

Elements ReducePrecisionOp::emitElements(OpBuilder &b, Location loc,
                                         ValueRange indices,
                                         ElementSource load) {
  // x + c - c is x rounded to the distance of f32 numbers near c. With c a
  // multiple of the power of two below |x|, that is the distance of the narrow
  // type's numbers near x. 1.5 keeps x + c in one binade for either sign.
  ScalarEmitter e{b, loc};
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  const llvm::fltSemantics &to = cast<FloatType>(getTo()).getFloatSemantics();
  double largest = llvm::APFloat::getLargest(to).convertToDouble();
  int mantissa = static_cast<int>(llvm::APFloat::semanticsPrecision(to)) - 1;
  double smallest = std::ldexp(1.0, llvm::APFloat::semanticsMinExponent(to));
  auto choose = [&](arith::CmpFPredicate predicate, Value a, Value other) {
    Value holds = arith::CmpFOp::create(b, loc, predicate, a, other);
    return arith::SelectOp::create(b, loc, holds, other, a).getResult();
  };
  Value x = load(0, indices);
  // Comparisons with NaN are false: it stays.
  Value bounded =
      choose(arith::CmpFPredicate::OGT, x, e.constant(f32, largest));
  bounded =
      choose(arith::CmpFPredicate::OLT, bounded, e.constant(f32, -largest));
  Value exponent = arith::AndIOp::create(
      b, loc, arith::BitcastOp::create(b, loc, i32, bounded),
      e.constant(i32, 0x7f800000));
  Value power = choose(arith::CmpFPredicate::OLT,
                       arith::BitcastOp::create(b, loc, f32, exponent),
                       e.constant(f32, smallest));
  constexpr int kF32Mantissa = 23;
  Value shift = arith::MulFOp::create(
      b, loc, power, e.constant(f32, std::ldexp(1.5, kF32Mantissa - mantissa)));
  Value rounded = arith::SubFOp::create(
      b, loc, arith::AddFOp::create(b, loc, bounded, shift), shift);
  return {math::CopySignOp::create(b, loc, rounded, x)};
}

/// Emits the bits of an f32 number, with NaN made quiet: adding 2^15 then
/// yields NaN, too.
static Value emitBits(const ScalarEmitter &e, Value x) {
  Type i32 = e.b.getI32Type();
  Value quiet =
      arith::ConstantOp::create(e.b, e.loc, e.b.getI32IntegerAttr(0x7fc00000));
  Value isNaN =
      arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(e.b, e.loc, isNaN, quiet,
                                 arith::BitcastOp::create(e.b, e.loc, i32, x));
}

Elements UpperHalfOp::emitElements(OpBuilder &b, Location loc,
                                   ValueRange indices, ElementSource load) {
  auto word = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };
  Value raised = arith::AddIOp::create(
      b, loc, emitBits({b, loc}, load(0, indices)), word(1 << 15));
  Value upper = arith::TruncIOp::create(
      b, loc, b.getI16Type(), arith::ShRUIOp::create(b, loc, raised, word(16)));
  return {arith::BitcastOp::create(b, loc, b.getBF16Type(), upper)};
}

Elements LowerHalfOp::emitElements(OpBuilder &b, Location loc,
                                   ValueRange indices, ElementSource load) {
  return {arith::TruncIOp::create(b, loc, b.getI16Type(),
                                  emitBits({b, loc}, load(0, indices)))};
}

Elements JoinHalvesOp::emitElements(OpBuilder &b, Location loc,
                                    ValueRange indices, ElementSource load) {
  Type i16 = b.getI16Type(), i32 = b.getI32Type();
  Value upper = arith::ExtUIOp::create(
      b, loc, i32, arith::BitcastOp::create(b, loc, i16, load(0, indices)));
  // Sign extension subtracts 2^16 where rounding has added it.
  Value lower = arith::ExtSIOp::create(b, loc, i32, load(1, indices));
  Value sixteen = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(16));
  Value bits = arith::AddIOp::create(
      b, loc, arith::ShLIOp::create(b, loc, upper, sixteen), lower);
  return {arith::BitcastOp::create(b, loc, b.getF32Type(), bits)};
}

Elements MagnitudeOp::emitElements(OpBuilder &b, Location loc,
                                   ValueRange indices, ElementSource load) {
  Value bits =
      arith::BitcastOp::create(b, loc, b.getI32Type(), load(0, indices));
  Value rest =
      arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0x7fffffff));
  return {arith::AndIOp::create(b, loc, bits, rest)};
}

/// Emits the conversion of a float to an integer, rounding towards zero; values
/// outside of the range become the nearest value of it, and NaN becomes 0.
static Value emitTruncation(const ScalarEmitter &e, Value x, Type type,
                            bool isUnsigned) {
  using F = arith::CmpFPredicate;
  if (x.getType().getIntOrFloatBitWidth() < 32)
    x = e.convertFloat(x, e.b.getF32Type());
  unsigned width = type.getIntOrFloatBitWidth();
  double limit = std::ldexp(1.0, isUnsigned ? width : width - 1);
  double lowest = isUnsigned ? 0 : -limit;
  auto compare = [&](F predicate, double bound) -> Value {
    return arith::CmpFOp::create(e.b, e.loc, predicate, x,
                                 e.constant(x.getType(), bound));
  };
  auto extreme = [&](APInt value) -> Value {
    return arith::ConstantOp::create(e.b, e.loc, IntegerAttr::get(type, value));
  };
  Value above = compare(F::OGE, limit), below = compare(F::OLT, lowest);
  Value inside = e.logicalAnd(compare(F::OGE, lowest), compare(F::OLT, limit));
  // Converting anything else would be undefined.
  Value safe = arith::SelectOp::create(e.b, e.loc, inside, x,
                                       e.constant(x.getType(), 0));
  Value result =
      isUnsigned ? arith::FPToUIOp::create(e.b, e.loc, type, safe).getResult()
                 : arith::FPToSIOp::create(e.b, e.loc, type, safe).getResult();
  Value most = extreme(isUnsigned ? APInt::getMaxValue(width)
                                  : APInt::getSignedMaxValue(width));
  Value least = extreme(isUnsigned ? APInt::getMinValue(width)
                                   : APInt::getSignedMinValue(width));
  result = arith::SelectOp::create(e.b, e.loc, above, most, result);
  return arith::SelectOp::create(e.b, e.loc, below, least, result);
}

Elements CastOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                              ElementSource load) {
  ScalarEmitter e{b, loc};
  Value x = load(0, indices);
  Type from = tensorType(getOperand()).getElementType();
  Type to = tensorType(getResult()).getElementType();
  Type type = codeType(to);
  if (from == to)
    return {x};
  if (to.isInteger(1)) {
    Value zero = e.constant(x.getType(), 0);
    if (isFloat(x))
      return {
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, zero)};
    return {e.compare(arith::CmpIPredicate::ne, x, zero)};
  }
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (isFloat(x)) {
    if (isa<FloatType>(type))
      return {e.convertFloat(x, type)};
    return {emitTruncation(e, x, type, to.isUnsignedInteger())};
  }
  if (isa<FloatType>(type)) {
    // A choice of constants is one instruction for a vector of booleans.
    if (from.isInteger(1))
      return {arith::SelectOp::create(b, loc, x, e.constant(type, 1),
                                      e.constant(type, 0))};
    if (fromUnsigned)
      return {arith::UIToFPOp::create(b, loc, type, x)};
    return {arith::SIToFPOp::create(b, loc, type, x)};
  }
  unsigned fromWidth = x.getType().getIntOrFloatBitWidth();
  unsigned toWidth = type.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return {x};
  if (fromWidth > toWidth)
    return {arith::TruncIOp::create(b, loc, type, x)};
  if (fromUnsigned)
    return {arith::ExtUIOp::create(b, loc, type, x)};
  return {arith::ExtSIOp::create(b, loc, type, x)};
}
