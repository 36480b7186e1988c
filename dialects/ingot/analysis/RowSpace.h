//===----------------------------------------------------------------------===//
//
// Rows: the iteration space of a `row` fusion, and which values a kernel needs
// of the row that it works on only.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ANALYSIS_ROWSPACE_H
#define INGOT_DIALECTS_INGOT_ANALYSIS_ROWSPACE_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// `rows` rows of `length` elements, of several shapes: a tensor's leading
/// dimensions number the rows, its trailing ones the elements.
struct RowSpace {
  int64_t rows, length;

  bool operator==(const RowSpace &other) const {
    return rows == other.rows && length == other.length;
  }

  /// The space of a reduction that folds the trailing dimensions.
  static std::optional<RowSpace> of(Reduction reduction);
  /// The space of the first reduction among `ops`.
  static std::optional<RowSpace> of(llvm::ArrayRef<mlir::Operation *> ops);

  /// The space whose rows are those of an op's first result.
  static RowSpace ofResult(mlir::Operation *op);

  /// How many leading dimensions number the rows; nothing if the shape is not
  /// one of the space's.
  std::optional<size_t> split(llvm::ArrayRef<int64_t> shape) const;

  /// True if a tensor has one element per row. (What each is of, the shape
  /// does not tell: see RowReads.)
  bool hasElementPerRow(mlir::Value tensor) const;
};

/// How the ops of a kernel are read: element i of row r at element i of row r,
/// and values per row at their row, or elsewhere.
class RowReads {
public:
  /// `ops` in program order; `results` are the kernel's. The elements of
  /// `given`, if any, are computed beforehand.
  RowReads(RowSpace space, llvm::ArrayRef<mlir::Operation *> ops,
           llvm::ArrayRef<mlir::Value> results,
           mlir::Operation *given = nullptr);

  /// An op that keeps the kernel from running row by row, or null.
  mlir::Operation *getConflict() const { return conflict; }

  /// True if every read of the value, by ops or as a result, is of the row (and
  /// element) at work.
  bool isAligned(mlir::Value value) const {
    return aligned.contains(value) && !elsewhere.contains(value);
  }

private:
  bool readsAligned(mlir::Operation *op, mlir::OpOperand &operand) const;

  RowSpace space;
  llvm::DenseSet<mlir::Value> aligned, elsewhere;
  mlir::Operation *conflict = nullptr;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ANALYSIS_ROWSPACE_H
