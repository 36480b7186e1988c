// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The iteration space of a `row` fusion, and which values a kernel needs only
// of the current row.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_ROWSPACE_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_ROWSPACE_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// A space of `rows` rows with `length` elements each, which several shapes
/// fit: the leading dimensions of a tensor number the rows, its trailing
/// dimensions the elements. Or rows are blocks of elements that follow one
/// another in memory, whatever the shape; the last one may be shorter.
struct RowSpace {
  int64_t rows, length;
  /// The elements of all blocks; 0 where rows are not blocks.
  int64_t inBlocks = 0;

  bool operator==(const RowSpace &other) const {
    return rows == other.rows && length == other.length &&
           inBlocks == other.inBlocks;
  }

  /// Returns the number of elements of all rows.
  int64_t countElements() const { return inBlocks ? inBlocks : rows * length; }

  /// Returns the space of a reduction over the trailing dimensions.
  static std::optional<RowSpace> of(Reduction reduction);
  /// Returns the space of the first reduction over trailing dimensions among
  /// `ops`.
  static std::optional<RowSpace> of(llvm::ArrayRef<mlir::Operation *> ops);

  /// Returns the space whose rows are those of an op's first result.
  static RowSpace ofResult(mlir::Operation *op);

  /// Returns how many leading dimensions of the shape number the rows; nothing
  /// if the shape does not fit the space. Of blocks, none does: the position in
  /// memory numbers them.
  std::optional<size_t> split(llvm::ArrayRef<int64_t> shape) const;

  /// Returns true if a tensor has one element per row. The shape alone does not
  /// tell which row an element belongs to: see RowReads.
  bool hasElementPerRow(mlir::Value tensor) const;

  /// Returns whether an op adds up the rows: its result has an element for each
  /// column. Never where there are as many rows as columns, so that the shape
  /// of a value tells whether it has an element for each of them.
  bool isOverRows(mlir::Operation *op) const;
};

/// Analyzes at which positions the ops of a kernel read values: elements at the
/// current row and element, values per row at the current row, or elsewhere.
class RowReads {
public:
  /// Analyzes `ops` in program order; `results` are the results of the kernel.
  /// The elements of `given`, if any, are computed in advance. With `sumsRows`,
  /// results may be sums over the rows.
  RowReads(RowSpace space, llvm::ArrayRef<mlir::Operation *> ops,
           llvm::ArrayRef<mlir::Value> results,
           mlir::Operation *given = nullptr, bool sumsRows = false);

  /// Returns an op that prevents the kernel from running row by row, or null.
  mlir::Operation *getConflict() const { return conflict; }

  /// Returns true if every read of the value, by ops or as a result, is at the
  /// current row (and element).
  bool isAligned(mlir::Value value) const {
    return aligned.contains(value) && !elsewhere.contains(value);
  }

  /// Returns true if an op that is computed at the current row and element
  /// reads an operand at the same position.
  bool readsAligned(mlir::Operation *op, mlir::OpOperand &operand) const;

  /// Returns true if an op that is computed at any element of the current row
  /// reads only that row of an operand.
  bool readsWithinRow(mlir::Operation *op, mlir::OpOperand &operand) const;

private:
  RowSpace space;
  llvm::DenseSet<mlir::Value> aligned, elsewhere;
  mlir::Operation *conflict = nullptr;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_ROWSPACE_H
