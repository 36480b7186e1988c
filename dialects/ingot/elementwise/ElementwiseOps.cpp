// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Shape inference and folding of elementwise ops; see docs/spec/elementwise.md.
// Constants are folded exactly. Only identities that preserve every value are
// applied, NaN and infinities included (x * 0 is kept); only the sign of a zero
// may change: x + 0 is x.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/ConstantFolding.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location>,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(
      withElement(tensorType(operands.front()), IntegerType::get(context, 1)));
  return success();
}

static bool isInteger(Value value) {
  return !isa<FloatType>(tensorType(value).getElementType());
}

LogicalResult ReducePrecisionOp::verify() {
  auto to = dyn_cast<FloatType>(getTo());
  constexpr unsigned widest = 8;
  if (!to || to.getWidth() > widest ||
      !llvm::APFloat::semanticsHasSignedRepr(to.getFloatSemantics()))
    return emitOpError("rounds to a signed float type of at most 8 bits, not ")
           << getTo();
  return success();
}

LogicalResult CastOp::verify() {
  Type from = tensorType(getOperand()).getElementType();
  Type to = tensorType(getResult()).getElementType();
  auto isFloat8 = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  if (from != to &&
      ((isFloat8(from) && !to.isF32()) || (isFloat8(to) && !from.isF32())))
    return emitOpError("converts 8-bit floats from and to f32 alone, not ")
           << from << " to " << to;
  return success();
}

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  return foldBinary(
      adaptor.getOperand(), adaptor.getOperand(),
      [](APFloat x, APFloat) { return llvm::neg(x); },
      [](APInt x, APInt, bool) { return -x; });
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (DenseElementsAttr constant = foldBinary(
          adaptor.getLhs(), adaptor.getRhs(),
          [](APFloat a, APFloat b) { return a + b; },
          [](APInt a, APInt b, bool) { return a + b; }))
    return constant;
  if (isZero(adaptor.getRhs()))
    return getLhs();
  if (isZero(adaptor.getLhs()))
    return getRhs();
  return nullptr;
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (DenseElementsAttr constant = foldBinary(
          adaptor.getLhs(), adaptor.getRhs(),
          [](APFloat a, APFloat b) { return a - b; },
          [](APInt a, APInt b, bool) { return a - b; }))
    return constant;
  if (isZero(adaptor.getRhs()))
    return getLhs();
  // Not for floats: NaN - NaN and inf - inf are NaN.
  if (getLhs() == getRhs() && isInteger(getLhs()))
    return DenseElementsAttr::get(
        tensorType(getResult()),
        IntegerAttr::get(tensorType(getResult()).getElementType(), 0));
  return nullptr;
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (DenseElementsAttr constant = foldBinary(
          adaptor.getLhs(), adaptor.getRhs(),
          [](APFloat a, APFloat b) { return a * b; },
          [](APInt a, APInt b, bool) { return a * b; }))
    return constant;
  if (isOne(adaptor.getRhs()))
    return getLhs();
  if (isOne(adaptor.getLhs()))
    return getRhs();
  // Not for floats: 0 * NaN and 0 * inf are NaN.
  if (isInteger(getLhs())) {
    if (isZero(adaptor.getRhs()))
      return getRhs();
    if (isZero(adaptor.getLhs()))
      return getLhs();
  }
  return nullptr;
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (DenseElementsAttr constant = foldBinary(
          adaptor.getLhs(), adaptor.getRhs(),
          [](APFloat a, APFloat b) { return a / b; },
          [](APInt a, APInt b, bool isUnsigned) {
            if (b.isZero())
              return b;
            return isUnsigned ? a.udiv(b) : a.sdiv(b);
          }))
    return constant;
  if (isOne(adaptor.getRhs()))
    return getLhs();
  return nullptr;
}

OpFoldResult MaxOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](APFloat a, APFloat b) { return llvm::maximum(a, b); },
      [](APInt a, APInt b, bool isUnsigned) {
        return isUnsigned ? llvm::APIntOps::umax(a, b)
                          : llvm::APIntOps::smax(a, b);
      });
}

OpFoldResult MinOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](APFloat a, APFloat b) { return llvm::minimum(a, b); },
      [](APInt a, APInt b, bool isUnsigned) {
        return isUnsigned ? llvm::APIntOps::umin(a, b)
                          : llvm::APIntOps::smin(a, b);
      });
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  // A cast to a type that contains every value, and back.
  if (auto inner = getOperand().getDefiningOp<CastOp>()) {
    RankedTensorType from = tensorType(inner.getOperand());
    if (from == getResult().getType() &&
        isLosslessCast(from.getElementType(),
                       tensorType(getOperand()).getElementType()))
      return inner.getOperand();
  }
  return foldCast(adaptor.getOperand(), tensorType(getResult()));
}

//===----------------------------------------------------------------------===//
// Booleans and bits
//===----------------------------------------------------------------------===//

OpFoldResult NotOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NotOp>())
    return inner.getOperand();
  return foldBits(adaptor.getOperand(), adaptor.getOperand(),
                  [](APInt x, const APInt &) { return ~std::move(x); });
}

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isAllOnes(adaptor.getRhs()))
    return getLhs();
  if (isZero(adaptor.getRhs()))
    return getRhs();
  return foldBits(adaptor.getLhs(), adaptor.getRhs(),
                  [](APInt a, const APInt &b) { return std::move(a) & b; });
}

OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isZero(adaptor.getRhs()))
    return getLhs();
  if (isAllOnes(adaptor.getRhs()))
    return getRhs();
  return foldBits(adaptor.getLhs(), adaptor.getRhs(),
                  [](APInt a, const APInt &b) { return std::move(a) | b; });
}

OpFoldResult XorOp::fold(FoldAdaptor adaptor) {
  if (isZero(adaptor.getRhs()))
    return getLhs();
  return foldBits(adaptor.getLhs(), adaptor.getRhs(),
                  [](APInt a, const APInt &b) { return std::move(a) ^ b; });
}

LogicalResult BitcastOp::verify() {
  unsigned from = tensorType(getOperand()).getElementTypeBitWidth();
  unsigned to = tensorType(getResult()).getElementTypeBitWidth();
  if (from != to)
    return emitOpError("C10: elements of ")
           << from << " bits have no equals of " << to << " bits";
  return success();
}

/// Returns whether a comparison holds between elements that are less, equal or
/// greater.
static bool holds(Predicate predicate, bool less, bool equal, bool greater) {
  switch (predicate) {
  case Predicate::EQ:
    return equal;
  case Predicate::NE:
    return !equal;
  case Predicate::LT:
    return less;
  case Predicate::LE:
    return less || equal;
  case Predicate::GT:
    return greater;
  case Predicate::GE:
    return greater || equal;
  }
  llvm_unreachable("unknown predicate");
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  Predicate predicate = getPredicate();
  return foldCompare(
      adaptor.getLhs(), adaptor.getRhs(),
      [=](const APFloat &a, const APFloat &b) {
        return holds(predicate, a<b, a == b, a> b);
      },
      [=](const APInt &a, const APInt &b, bool isUnsigned) {
        return holds(predicate, isUnsigned ? a.ult(b) : a.slt(b), a == b,
                     isUnsigned ? a.ugt(b) : a.sgt(b));
      });
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse() || isOne(adaptor.getCondition()))
    return getOnTrue();
  if (isZero(adaptor.getCondition()))
    return getOnFalse();
  return foldSelect(adaptor.getCondition(), adaptor.getOnTrue(),
                    adaptor.getOnFalse());
}

//===----------------------------------------------------------------------===//
// Evaluation on elements stored as doubles
//===----------------------------------------------------------------------===//

double AddOp::evaluate(ArrayRef<double> x) { return x[0] + x[1]; }
double SubOp::evaluate(ArrayRef<double> x) { return x[0] - x[1]; }

static int64_t bits(double x) { return static_cast<int64_t>(x); }

double NotOp::evaluate(ArrayRef<double> x) {
  Type element = tensorType(getResult()).getElementType();
  if (element.isInteger(1))
    return x[0] == 0;
  int64_t flipped = ~bits(x[0]);
  if (element.isUnsignedInteger())
    return static_cast<double>(
        static_cast<uint64_t>(flipped) &
        (~uint64_t(0) >> (64 - element.getIntOrFloatBitWidth())));
  return static_cast<double>(flipped);
}
double AndOp::evaluate(ArrayRef<double> x) {
  return static_cast<double>(bits(x[0]) & bits(x[1]));
}
double OrOp::evaluate(ArrayRef<double> x) {
  return static_cast<double>(bits(x[0]) | bits(x[1]));
}

double CompareOp::evaluate(ArrayRef<double> x) {
  return holds(getPredicate(), x[0]<x[1], x[0] == x[1], x[0]> x[1]);
}

double SelectOp::evaluate(ArrayRef<double> x) {
  return x[0] != 0 ? x[1] : x[2];
}

double CastOp::evaluate(ArrayRef<double> x) {
  Type element = tensorType(getResult()).getElementType();
  if (element.isInteger(1))
    return x[0] != 0;
  return isa<FloatType>(element) ? x[0] : std::trunc(x[0]);
}
