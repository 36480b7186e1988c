// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How ops are computed in parts.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_H
#define INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallBitVector.h"
#include <vector>

namespace ingot {

/// A range of the elements of a factor, of which a dimension consists.
struct FactorRange {
  int64_t begin, end;
  /// The elements of the dimension for each element of the factor.
  int64_t scale;
};

/// Dimensions that are split together, see the interface Partitionable.
struct Factor {
  enum Kind {
    /// Each part of the operands gives a part of the results.
    Free,
    /// The result is the sum, product, maximum or minimum of those of the
    /// parts.
    Sum,
    Prod,
    Max,
    Min
  } kind = Free;
  /// Parts are equal: their number divides this.
  int64_t size = 1;
  /// The dimension of each operand and of each result; -1 for those that do not
  /// have the factor.
  llvm::SmallVector<int64_t> operandDims = {}, resultDims = {};
  /// The ranges that the dimension of each operand and of each result consists
  /// of, in its order; none for one that consists of the whole factor.
  std::vector<std::vector<FactorRange>> operandRanges = {}, resultRanges = {};
  /// A part is one range of elements, because what is computed depends on where
  /// it is.
  bool isContiguous = false;
  /// Elements without a meaning behind the last one, so that parts are equal:
  /// of all dimensions that have the factor, which consist of it once.
  int64_t pad = 0;

  /// Returns the elements of each of `parts` equal parts.
  int64_t getPartSize(int64_t parts) const { return (size + pad) / parts; }
  /// Returns whether dimensions consist of other things than the factor.
  bool hasRanges() const {
    return !operandRanges.empty() || !resultRanges.empty();
  }
  std::vector<FactorRange> getOperandRanges(mlir::Operation *op,
                                            unsigned operand) const;
  std::vector<FactorRange> getResultRanges(mlir::Operation *op,
                                           unsigned result) const;
  /// Returns the sizes of the segments that parts have to have a part of, each:
  /// those between the borders of all ranges.
  llvm::SmallVector<int64_t> getSegments(mlir::Operation *op) const;
};

/// Returns the segments, in elements, of a dimension that consists of these
/// ranges of a factor with these segments. All borders of ranges are borders of
/// segments.
llvm::SmallVector<int64_t>
getDimSegments(llvm::ArrayRef<FactorRange> ranges,
               llvm::ArrayRef<int64_t> factorSegments);

/// Returns the factors that follow from how an op reads elements.
llvm::SmallVector<Factor> getDefaultFactors(mlir::Operation *op);

/// Returns the factors of any op, see the interface Partitionable; none of an
/// op that is computed as a whole.
llvm::SmallVector<Factor> getFactors(mlir::Operation *op);

/// Returns the op on parts of operands with its attributes adapted: the default
/// of `Partitionable::buildPart`.
llvm::SmallVector<mlir::Value> clonePart(mlir::OpBuilder &builder,
                                         mlir::Operation *op,
                                         const Factor &factor, int64_t parts,
                                         mlir::ValueRange operands);

/// Returns the results of one of `parts` equal parts of an op, see the
/// interface Partitionable.
llvm::SmallVector<mlir::Value>
buildPart(mlir::OpBuilder &builder, mlir::Operation *op, const Factor &factor,
          int64_t parts, mlir::ValueRange operands, mlir::Value number);

/// Returns whether the sum over ranks of the op's results is its result, see
/// the interface Partitionable.
bool keepsPartialSums(mlir::Operation *op, const llvm::SmallBitVector &partial);

/// Returns whether the op contracts two operands with each other: it sums over
/// a factor that several operands have.
bool isContraction(mlir::Operation *op);

} // namespace ingot

#include "dialects/ingot/partition/Partitionable.h.inc"

#endif // INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_H
