//===----------------------------------------------------------------------===//
//
// Arithmetic on constants at compile time. Floating point goes through APFloat
// in the element's own format, so that folding gives the bits that running
// would. A function returns null where it does not fold: operands unknown, too
// large, or without elements.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_FOLDING_H
#define INGOT_DIALECTS_INGOT_SUPPORT_FOLDING_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

namespace ingot::detail {

/// Constants with more elements than this are computed at run time, unless they
/// are splats.
inline constexpr int64_t kFoldLimit = 65536;

/// A broadcast of a constant that is no splat costs memory once folded; kernels
/// repeat elements for free.
inline constexpr int64_t kBroadcastFoldLimit = 1024;

/// The constant if it is one that folding handles.
mlir::DenseElementsAttr foldable(mlir::Attribute constant);

/// True if every element is 0 (of either sign), or 1.
bool isZero(mlir::Attribute constant);
bool isOne(mlir::Attribute constant);

/// An op on one or two elements: floats and integers apart. `isUnsigned` tells
/// how to read the bits of an integer.
using FloatFunction =
    llvm::function_ref<llvm::APFloat(llvm::APFloat, llvm::APFloat)>;
using IntFunction =
    llvm::function_ref<llvm::APInt(llvm::APInt, llvm::APInt, bool isUnsigned)>;

/// Applies an elementwise op to two constants of one type.
mlir::DenseElementsAttr foldBinary(mlir::Attribute lhs, mlir::Attribute rhs,
                                   FloatFunction onFloats, IntFunction onInts);

/// Compares two constants of one type; the result has elements of i1.
mlir::DenseElementsAttr foldCompare(
    mlir::Attribute lhs, mlir::Attribute rhs,
    llvm::function_ref<bool(const llvm::APFloat &, const llvm::APFloat &)>
        onFloats,
    llvm::function_ref<bool(const llvm::APInt &, const llvm::APInt &,
                            bool isUnsigned)>
        onInts);

/// Applies an op to two constants of booleans.
mlir::DenseElementsAttr foldBooleans(mlir::Attribute lhs, mlir::Attribute rhs,
                                     llvm::function_ref<bool(bool, bool)> op);

/// Elements of one constant where the condition holds, of another where not.
mlir::DenseElementsAttr foldSelect(mlir::Attribute condition,
                                   mlir::Attribute onTrue,
                                   mlir::Attribute onFalse);

/// Converts elements as `ingot.cast` does.
mlir::DenseElementsAttr foldCast(mlir::Attribute operand,
                                 mlir::RankedTensorType result);

/// True if every value of `from` is one of `to` as well, so that casting there
/// and back changes nothing.
bool isLosslessCast(mlir::Type from, mlir::Type to);

/// Rearranges elements.
mlir::DenseElementsAttr foldMove(mlir::Attribute operand,
                                 mlir::RankedTensorType result,
                                 const ElementMove &move);

/// Rearranges elements: result element i, in row-major order, is the operand's
/// element number source[i].
mlir::DenseElementsAttr foldPick(mlir::Attribute operand,
                                 mlir::RankedTensorType result,
                                 llvm::ArrayRef<int64_t> source);

/// A constant that foldPlace puts into a larger one: its element [i0, i1, ...]
/// becomes element number base + i0 * steps[0] + i1 * steps[1] + ...
struct Placement {
  mlir::Attribute constant;
  int64_t base;
  llvm::SmallVector<int64_t> steps;
};

/// Fills a constant with `value` and places others in it.
mlir::DenseElementsAttr foldPlace(mlir::RankedTensorType result, double value,
                                  llvm::ArrayRef<Placement> placements);

/// Reduces a constant over `dims`, in row-major order.
mlir::DenseElementsAttr foldReduction(mlir::Attribute operand,
                                      ReductionKind kind,
                                      llvm::ArrayRef<int64_t> dims,
                                      mlir::RankedTensorType from,
                                      mlir::RankedTensorType to);

/// How far apart, in row-major order, neighbours along each dimension are.
llvm::SmallVector<int64_t> rowMajorSteps(llvm::ArrayRef<int64_t> shape);

} // namespace ingot::detail

#endif // INGOT_DIALECTS_INGOT_SUPPORT_FOLDING_H
