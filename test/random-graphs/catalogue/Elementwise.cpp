// SPDX-License-Identifier: Apache-2.0

#include "test/random-graphs/catalogue/Catalogue.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;

template <typename OpT>
static void addReal(std::vector<Entry> &entries, Domain domain = Domain::Any) {
  addEntry<OpT>(entries, [domain](Source &s) -> Operation * {
    Value x = s.real(s.choose.shape(), domain);
    return OpT::create(s.builder, s.loc(), x.getType(), x);
  });
}

/// Floats, or integers where the source has them.
template <typename OpT> static void addUnary(std::vector<Entry> &entries) {
  addEntry<OpT>(entries, [](Source &s) -> Operation * {
    auto type = RankedTensorType::get(s.choose.shape(), s.numberElement());
    Value x = s.number(type, Domain::NonZero);
    return OpT::create(s.builder, s.loc(), type, x);
  });
}

template <typename OpT>
static void addBinary(std::vector<Entry> &entries,
                      Domain rhsDomain = Domain::Any) {
  addEntry<OpT>(entries, [rhsDomain](Source &s) -> Operation * {
    auto type = RankedTensorType::get(s.choose.shape(), s.numberElement());
    Value lhs = s.number(type), rhs = s.number(type, rhsDomain);
    return OpT::create(s.builder, s.loc(), type, lhs, rhs);
  });
}

template <typename OpT> static void addLogical(std::vector<Entry> &entries) {
  addEntry<OpT>(entries, [](Source &s) -> Operation * {
    Shape shape = s.choose.shape();
    Value lhs = s.boolean(shape), rhs = s.boolean(shape);
    return OpT::create(s.builder, s.loc(), lhs.getType(), lhs, rhs);
  });
}

static Operation *buildPow(Source &s) {
  Shape shape = s.choose.shape();
  Value base = s.real(shape, Domain::Positive);
  return PowOp::create(s.builder, s.loc(), base.getType(), base, s.real(shape));
}

/// A constant exponent, which gradients treat apart.
static Operation *buildPowOfConstant(Source &s) {
  Value base = s.real(s.choose.shape(), Domain::Positive);
  double exponent = s.choose.pick(std::vector<double>{0, 0.5, 1, 2, 3, -1.5});
  return PowOp::create(s.builder, s.loc(), base.getType(), base,
                       splatLike(s.builder, base, exponent));
}

static Operation *buildCompare(Source &s) {
  auto type = RankedTensorType::get(s.choose.shape(), s.numberElement());
  Value lhs = s.number(type), rhs = s.number(type);
  auto predicate = static_cast<Predicate>(s.choose.between(0, 5));
  return CompareOp::create(s.builder, s.loc(),
                           withElement(type, s.builder.getI1Type()), predicate,
                           lhs, rhs);
}

static Operation *buildSelect(Source &s) {
  Shape shape = s.choose.shape();
  auto type = RankedTensorType::get(shape, s.numberElement());
  Value condition = s.boolean(shape), a = s.number(type), b = s.number(type);
  return SelectOp::create(s.builder, s.loc(), type, condition, a, b);
}

/// On booleans or, where the source has them, integers.
template <typename OpT> static void addBitwise(std::vector<Entry> &entries) {
  addLogical<OpT>(entries);
  addEntry<OpT>(entries, [](Source &s) -> Operation * {
    auto type = RankedTensorType::get(s.choose.shape(), s.integerElement());
    Value lhs = s.integer(type, 0, 9), rhs = s.integer(type, 0, 9);
    return OpT::create(s.builder, s.loc(), type, lhs, rhs);
  });
}

static Operation *buildNot(Source &s) {
  auto type = RankedTensorType::get(s.choose.shape(), s.integerElement());
  Value x = s.integer(type, 0, 9);
  return NotOp::create(s.builder, s.loc(), type, x);
}

/// Some places are outside of the element.
template <typename OpT> static Operation *buildShift(Source &s) {
  auto type = RankedTensorType::get(s.choose.shape(), s.integerElement());
  Value x = s.integer(type, 0, 100), places = s.integer(type, 0, 70);
  return OpT::create(s.builder, s.loc(), type, x, places);
}

static Operation *buildBitcast(Source &s) {
  auto from = cast<IntegerType>(s.integerElement());
  auto to = IntegerType::get(from.getContext(), from.getWidth(),
                             from.isUnsigned() ? IntegerType::Signless
                                               : IntegerType::Unsigned);
  auto type = RankedTensorType::get(s.choose.shape(), from);
  Value x = s.integer(type, 0, 100);
  return BitcastOp::create(s.builder, s.loc(), withElement(type, to), x);
}

/// Both operands are equal: central differences then see the gradient that
/// goes to the first one.
static Operation *buildStraightThrough(Source &s) {
  Value x = s.real(s.choose.shape());
  Value y = NegOp::create(s.builder, s.loc(), x.getType(), x);
  y = NegOp::create(s.builder, s.loc(), x.getType(), y);
  return StraightThroughOp::create(s.builder, s.loc(), x.getType(), x, y);
}

/// Through the wider type only: central differences see no rounding.
static Operation *buildCast(Source &s) {
  Value x = s.real(s.choose.shape());
  return CastOp::create(s.builder, s.loc(),
                        withElement(tensorType(x), s.builder.getF64Type()), x);
}

static Operation *buildReducePrecision(Source &s) {
  Value x = castTo(s.builder, s.loc(), s.real(s.choose.shape()),
                   s.builder.getF32Type());
  return ReducePrecisionOp::create(
      s.builder, s.loc(), x.getType(), x,
      TypeAttr::get(Float8E4M3FNType::get(s.builder.getContext())));
}

void ingot::testing::addElementwise(std::vector<Entry> &entries) {
  addUnary<NegOp>(entries);
  addUnary<AbsOp>(entries);
  addUnary<SignOp>(entries);
  addReal<FloorOp>(entries);
  addReal<CeilOp>(entries);
  addReal<RoundOp>(entries);
  addReal<ExpOp>(entries);
  addReal<LogOp>(entries, Domain::Positive);
  addReal<Log1pOp>(entries, Domain::Positive);
  addReal<SqrtOp>(entries, Domain::Positive);
  addReal<RsqrtOp>(entries, Domain::Positive);
  addReal<TanhOp>(entries);
  addReal<ErfOp>(entries);
  addReal<SinOp>(entries);
  addReal<CosOp>(entries);
  addReal<LogisticOp>(entries);
  addBinary<AddOp>(entries);
  addBinary<SubOp>(entries);
  addBinary<MulOp>(entries);
  addBinary<DivOp>(entries, Domain::NonZero);
  addBinary<MaxOp>(entries);
  addBinary<MinOp>(entries);
  addBinary<RemOp>(entries, Domain::NonZero);
  addReal<AtanOp>(entries);
  addBitwise<AndOp>(entries);
  addBitwise<OrOp>(entries);
  addBitwise<XorOp>(entries);
  addEntry<NotOp>(entries, buildNot);
  addEntry<ShiftLeftOp>(entries, buildShift<ShiftLeftOp>);
  addEntry<ShiftRightOp>(entries, buildShift<ShiftRightOp>);
  addEntry<BitcastOp>(entries, buildBitcast);
  addEntry<StraightThroughOp>(entries, buildStraightThrough);
  addEntry<NotOp>(entries, [](Source &s) -> Operation * {
    Value x = s.boolean(s.choose.shape());
    return NotOp::create(s.builder, s.loc(), x.getType(), x);
  });
  addEntry<PowOp>(entries, buildPow);
  addEntry<PowOp>(entries, buildPowOfConstant);
  addEntry<CompareOp>(entries, buildCompare);
  addEntry<SelectOp>(entries, buildSelect);
  addEntry<CastOp>(entries, buildCast);
  addEntry<ReducePrecisionOp>(entries, buildReducePrecision);
}
