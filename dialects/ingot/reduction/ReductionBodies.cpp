// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Reductions as sequential loops over the reduced dimensions.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"

using namespace mlir;
using namespace ingot;

using Elements = SmallVector<Value>;

/// Returns the index of an operand element: the entries of `kept` for
/// dimensions that remain, those of `folded` for reduced ones.
static Elements interleave(int64_t rank, ArrayRef<int64_t> dims,
                           ValueRange kept, ValueRange folded) {
  Elements source;
  size_t k = 0, f = 0;
  for (int64_t d = 0; d < rank; ++d)
    source.push_back(llvm::is_contained(dims, d) ? folded[f++] : kept[k++]);
  return source;
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> ReduceOp::getReducedDims() { return getDims(); }

bool ReduceOp::isLooped() {
  return tensorType(getOperand()).getNumElements() !=
         tensorType(getResult()).getNumElements();
}

int64_t ReduceOp::getFlops() {
  return tensorType(getOperand()).getNumElements();
}

Precision ReduceOp::getPrecisionRole() { return Precision::Keep; }

Value ReduceOp::emitIdentity(OpBuilder &b, Location loc) {
  ScalarEmitter e{b, loc};
  Type element = tensorType(getOperand()).getElementType();
  Type type = accumulatorType(element);
  if (getKind() == ReductionKind::Sum || getKind() == ReductionKind::Prod)
    return e.constant(type, getKind() == ReductionKind::Sum ? 0 : 1);
  bool isMax = getKind() == ReductionKind::Max;
  if (auto floating = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        b, loc,
        b.getFloatAttr(type, APFloat::getInf(floating.getFloatSemantics(),
                                             /*Negative=*/isMax)));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt extreme =
      element.isUnsignedInteger()
          ? (isMax ? APInt::getMinValue(width) : APInt::getMaxValue(width))
          : (isMax ? APInt::getSignedMinValue(width)
                   : APInt::getSignedMaxValue(width));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, extreme));
}

Value ReduceOp::emitCombine(OpBuilder &b, Location loc, Value accumulator,
                            Value element) {
  // The order of a sum is up to the kernel: reassociation lets it vectorize.
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(),
                                             arith::FastMathFlags::reassoc);
  Value x = ScalarEmitter{b, loc}.convertFloat(element, accumulator.getType());
  bool isFloat = isa<FloatType>(accumulator.getType());
  bool isUnsigned =
      tensorType(getOperand()).getElementType().isUnsignedInteger();
  switch (getKind()) {
  case ReductionKind::Sum:
    if (isFloat)
      return arith::AddFOp::create(b, loc, accumulator, x, flags);
    return arith::AddIOp::create(b, loc, accumulator, x);
  case ReductionKind::Prod:
    if (isFloat)
      return arith::MulFOp::create(b, loc, accumulator, x, flags);
    return arith::MulIOp::create(b, loc, accumulator, x);
  // NaN propagates; either zero may be returned of zeros of both signs, which
  // takes half the instructions.
  case ReductionKind::Max:
    if (isFloat)
      return arith::MaximumFOp::create(b, loc, accumulator, x,
                                       arith::FastMathFlags::nsz);
    if (isUnsigned)
      return arith::MaxUIOp::create(b, loc, accumulator, x);
    return arith::MaxSIOp::create(b, loc, accumulator, x);
  case ReductionKind::Min:
    if (isFloat)
      return arith::MinimumFOp::create(b, loc, accumulator, x,
                                       arith::FastMathFlags::nsz);
    if (isUnsigned)
      return arith::MinUIOp::create(b, loc, accumulator, x);
    return arith::MinSIOp::create(b, loc, accumulator, x);
  }
  llvm_unreachable("all kinds are handled");
}

/// Emits a loop over the elements that a result of a reduction is computed of.
template <typename Op>
static Elements accumulate(
    Op op, OpBuilder &b, Location loc, ValueRange indices, ElementSource load,
    const Elements &start,
    llvm::function_ref<Elements(ValueRange carried, Value element)> combine) {
  RankedTensorType from = tensorType(op.getOperand());
  auto sizes = llvm::map_to_vector(
      op.getDims(), [&](int64_t dim) { return from.getDimSize(dim); });
  return ScalarEmitter{b, loc}.loops(
      sizes, start,
      [&](const ScalarEmitter &, ValueRange at, ValueRange carried) {
        return combine(carried, load(0, interleave(from.getRank(), op.getDims(),
                                                   indices, at)));
      });
}

/// Converts what a reduction has accumulated to the type of its result.
static Value roundResult(Operation *reduction, OpBuilder &b, Location loc,
                         Value value) {
  return ScalarEmitter{b, loc}.convertFloat(
      value, codeType(tensorType(reduction->getResult(0)).getElementType()));
}

Elements ReduceOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                ElementSource load) {
  Elements sum =
      accumulate(*this, b, loc, indices, load, {emitIdentity(b, loc)},
                 [&](ValueRange carried, Value element) -> Elements {
                   return {emitCombine(b, loc, carried[0], element)};
                 });
  return {roundResult(*this, b, loc, sum[0])};
}

//===----------------------------------------------------------------------===//
// squared_deviations
//===----------------------------------------------------------------------===//

namespace {
/// The accumulators of a loop over elements: how many there are (i32), the
/// first of them, the sum of the differences from it, and that of their
/// squares.
struct Shifted {
  enum { Count, First, Sum, Squares, Size };
};

/// The moments of a part of the elements: how many there are, their mean, and
/// the sum of the squares of differences from it.
struct Moments {
  enum { Count, Mean, Squares, Size };
};
} // namespace

ArrayRef<int64_t> SquaredDeviationsOp::getReducedDims() { return getDims(); }

bool SquaredDeviationsOp::isLooped() { return true; }

int64_t SquaredDeviationsOp::getFlops() {
  constexpr int64_t perElement = 4;
  return perElement * tensorType(getOperand()).getNumElements();
}

Precision SquaredDeviationsOp::getPrecisionRole() { return Precision::Keep; }

SmallVector<Type> SquaredDeviationsOp::getPartialTypes() {
  return SmallVector<Type>(Moments::Size, detail::accumulatorOf(*this));
}

unsigned SquaredDeviationsOp::getNumAccumulators() { return Shifted::Size; }

Elements SquaredDeviationsOp::emitIdentities(OpBuilder &b, Location loc) {
  ScalarEmitter e{b, loc};
  Elements nothing(Shifted::Size, e.constant(detail::accumulatorOf(*this), 0));
  nothing[Shifted::Count] = e.constant(b.getI32Type(), 0);
  return nothing;
}

Elements SquaredDeviationsOp::emitElement(OpBuilder &b, Location loc,
                                          ValueRange accumulators,
                                          Value element) {
  ScalarEmitter e{b, loc};
  Value count = accumulators[Shifted::Count];
  Value x = e.convertFloat(element, accumulators[Shifted::First].getType());
  Value isFirst = e.compare(arith::CmpIPredicate::eq, count,
                            e.constant(count.getType(), 0));
  Value first =
      arith::SelectOp::create(b, loc, isFirst, x, accumulators[Shifted::First]);
  Value difference = arith::SubFOp::create(b, loc, x, first);
  Elements next(Shifted::Size);
  next[Shifted::Count] =
      arith::AddIOp::create(b, loc, count, e.constant(count.getType(), 1));
  next[Shifted::First] = first;
  next[Shifted::Sum] =
      arith::AddFOp::create(b, loc, accumulators[Shifted::Sum], difference);
  next[Shifted::Squares] = arith::AddFOp::create(
      b, loc, accumulators[Shifted::Squares],
      arith::MulFOp::create(b, loc, difference, difference));
  return next;
}

Elements SquaredDeviationsOp::emitPartial(OpBuilder &b, Location loc,
                                          ValueRange accumulators) {
  ScalarEmitter e{b, loc};
  Value sum = accumulators[Shifted::Sum];
  Type type = sum.getType();
  Elements partial(Moments::Size);
  partial[Moments::Count] =
      arith::SIToFPOp::create(b, loc, type, accumulators[Shifted::Count]);
  Value count = arith::MaximumFOp::create(b, loc, partial[Moments::Count],
                                          e.constant(type, 1));
  Value offset = arith::DivFOp::create(b, loc, sum, count);
  partial[Moments::Mean] =
      arith::AddFOp::create(b, loc, accumulators[Shifted::First], offset);
  // Rounding may leave less than nothing; NaN stays.
  partial[Moments::Squares] = arith::MaximumFOp::create(
      b, loc,
      arith::SubFOp::create(b, loc, accumulators[Shifted::Squares],
                            arith::MulFOp::create(b, loc, sum, offset)),
      e.constant(type, 0));
  return partial;
}

Elements SquaredDeviationsOp::emitMerge(OpBuilder &b, Location loc,
                                        ValueRange partial, ValueRange other) {
  ScalarEmitter e{b, loc};
  Value count = partial[Moments::Count];
  Type type = count.getType();
  Value all = arith::AddFOp::create(b, loc, count, other[Moments::Count]);
  Value share = arith::DivFOp::create(
      b, loc, other[Moments::Count],
      arith::MaximumFOp::create(b, loc, all, e.constant(type, 1)));
  Value difference = arith::SubFOp::create(b, loc, other[Moments::Mean],
                                           partial[Moments::Mean]);
  Value shift = arith::MulFOp::create(b, loc, difference, share);
  // The factors are such that a part without elements adds 0, however large the
  // mean of the other one is.
  Value between = arith::MulFOp::create(
      b, loc, arith::MulFOp::create(b, loc, difference, count), shift);
  Elements merged(Moments::Size);
  merged[Moments::Count] = all;
  merged[Moments::Mean] =
      arith::AddFOp::create(b, loc, partial[Moments::Mean], shift);
  merged[Moments::Squares] = arith::AddFOp::create(
      b, loc,
      arith::AddFOp::create(b, loc, partial[Moments::Squares],
                            other[Moments::Squares]),
      between);
  return merged;
}

Value SquaredDeviationsOp::emitResult(OpBuilder &, Location,
                                      ValueRange partial) {
  return partial[Moments::Squares];
}

Elements SquaredDeviationsOp::emitElements(OpBuilder &b, Location loc,
                                           ValueRange indices,
                                           ElementSource load) {
  Elements sums =
      accumulate(*this, b, loc, indices, load, emitIdentities(b, loc),
                 [&](ValueRange carried, Value element) -> Elements {
                   return emitElement(b, loc, carried, element);
                 });
  Value squares = emitResult(b, loc, emitPartial(b, loc, sums));
  return {roundResult(*this, b, loc, squares)};
}

//===----------------------------------------------------------------------===//
// argmax
//===----------------------------------------------------------------------===//

bool ArgMaxOp::isLooped() { return true; }

Elements ArgMaxOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                ElementSource load) {
  ScalarEmitter e{b, loc};
  RankedTensorType from = tensorType(getOperand());
  int64_t dim = getDim();
  auto at = [&](Value i) {
    return interleave(from.getRank(), {dim}, indices, i);
  };
  Value zero = e.index(0);
  Elements best = e.loops(
      {from.getDimSize(dim)}, {load(0, at(zero)), zero},
      [&](const ScalarEmitter &, ValueRange i, ValueRange carried) -> Elements {
        Value x = load(0, at(i[0]));
        Value wins;
        if (isa<FloatType>(x.getType())) {
          // The element is greater, or the first NaN.
          Value greater = arith::CmpFOp::create(
              b, loc, arith::CmpFPredicate::UGT, x, carried[0]);
          Value ordered = arith::CmpFOp::create(
              b, loc, arith::CmpFPredicate::ORD, carried[0], carried[0]);
          wins = e.logicalAnd(greater, ordered);
        } else {
          wins = e.compare(from.getElementType().isUnsignedInteger()
                               ? arith::CmpIPredicate::ugt
                               : arith::CmpIPredicate::sgt,
                           x, carried[0]);
        }
        return {arith::SelectOp::create(b, loc, wins, x, carried[0]),
                arith::SelectOp::create(b, loc, wins, i[0], carried[1])};
      });
  return {arith::IndexCastOp::create(
      b, loc, codeType(tensorType(getResult()).getElementType()), best[1])};
}
