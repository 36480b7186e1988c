// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Arithmetic on constants at compile time. Floating point uses APFloat in the
// element's own format, so that folding yields the same bits as execution. A
// function returns null where it does not fold: for unknown or too large
// operands, or operands without elements.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_CONSTANTFOLDING_H
#define INGOT_DIALECTS_INGOT_SUPPORT_CONSTANTFOLDING_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

namespace ingot::detail {

/// Constants with more elements than this are computed at run time, unless they
/// are splats.
inline constexpr int64_t kFoldLimit = 65536;

/// A broadcast of a constant that is not a splat takes memory once it is
/// folded, while kernels repeat elements at no cost.
inline constexpr int64_t kBroadcastFoldLimit = 1024;

/// Returns the constant if it is one that can be folded.
mlir::DenseElementsAttr foldable(mlir::Attribute constant);

/// Returns true if every element is 0 (of either sign), or 1.
bool isZero(mlir::Attribute constant);
bool isOne(mlir::Attribute constant);

/// Returns true if every bit of every element, an integer or boolean, is set.
bool isAllOnes(mlir::Attribute constant);

/// An op on one or two elements, for floats and for integers. `isUnsigned`
/// tells how to interpret the bits of an integer.
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

/// Applies an op to two constants of integers or booleans.
mlir::DenseElementsAttr foldBits(
    mlir::Attribute lhs, mlir::Attribute rhs,
    llvm::function_ref<llvm::APInt(const llvm::APInt &, const llvm::APInt &)>
        op);

/// Selects elements of one constant where the condition holds, and of another
/// elsewhere.
mlir::DenseElementsAttr foldSelect(mlir::Attribute condition,
                                   mlir::Attribute onTrue,
                                   mlir::Attribute onFalse);

/// Converts elements as `ingot.cast` does.
mlir::DenseElementsAttr foldCast(mlir::Attribute operand,
                                 mlir::RankedTensorType result);

/// Returns true if `to` contains every value of `from`, so that casting there
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

/// Returns the row-major stride of each dimension.
llvm::SmallVector<int64_t> rowMajorSteps(llvm::ArrayRef<int64_t> shape);

} // namespace ingot::detail

#endif // INGOT_DIALECTS_INGOT_SUPPORT_CONSTANTFOLDING_H
