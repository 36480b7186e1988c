//===----------------------------------------------------------------------===//
//
// Shape inference and folding of elementwise ops; see docs/spec/elementwise.md.
//
// Only identities that keep every value are used, NaN and infinities included
// (x * 0 stays). The sign of a zero may change: x + 0 is x.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Folding.h"

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

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  return foldBinary(
      adaptor.getOperand(), adaptor.getOperand(),
      [](APFloat x, APFloat) { return llvm::neg(x); },
      [](APInt x, APInt, bool) { return -x; });
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isZero(adaptor.getRhs()))
    return getLhs();
  if (isZero(adaptor.getLhs()))
    return getRhs();
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](APFloat a, APFloat b) { return a + b; },
      [](APInt a, APInt b, bool) { return a + b; });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isZero(adaptor.getRhs()))
    return getLhs();
  // Not for floats: NaN - NaN and inf - inf are NaN.
  if (getLhs() == getRhs() && isInteger(getLhs()))
    return DenseElementsAttr::get(
        tensorType(getResult()),
        IntegerAttr::get(tensorType(getResult()).getElementType(), 0));
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](APFloat a, APFloat b) { return a - b; },
      [](APInt a, APInt b, bool) { return a - b; });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
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
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](APFloat a, APFloat b) { return a * b; },
      [](APInt a, APInt b, bool) { return a * b; });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (isOne(adaptor.getRhs()))
    return getLhs();
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](APFloat a, APFloat b) { return a / b; },
      [](APInt a, APInt b, bool isUnsigned) {
        if (b.isZero())
          return b;
        return isUnsigned ? a.udiv(b) : a.sdiv(b);
      });
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
  // There and back through a type that holds every value.
  if (auto inner = getOperand().getDefiningOp<CastOp>()) {
    RankedTensorType from = tensorType(inner.getOperand());
    if (from == getResult().getType() &&
        isLosslessCast(from.getElementType(),
                       tensorType(getOperand()).getElementType()))
      return inner.getOperand();
  }
  return foldCast(adaptor.getOperand(), tensorType(getResult()));
}
