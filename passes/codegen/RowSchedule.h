// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The schedule of a `row` kernel, for any target: passes over a row, between
// which the results of reductions become known.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_CODEGEN_ROWSCHEDULE_H
#define INGOT_PASSES_CODEGEN_ROWSCHEDULE_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/builders/Scalars.h"

namespace ingot::codegen {

/// One pass over the elements of a row, and the values computed before it.
struct RowPhase {
  /// The values per row to compute before the pass, in order. If all reads are
  /// aligned, later passes use them directly; otherwise they are only stored.
  /// Reductions are not among them.
  llvm::SmallVector<mlir::Value> perRow;
  /// The reductions that the pass computes.
  llvm::SmallVector<Reduction> reductions;
  /// The results (numbers of the yield's operands) with an element per element
  /// of the space that the pass stores.
  llvm::SmallVector<unsigned> stored;
  /// The results that add up the rows of elements that the pass computes.
  llvm::SmallVector<unsigned> overRows;
  /// The values that are expensive to compute and that later passes use as
  /// well: they are kept in a buffer for the row if there is room.
  llvm::SmallVector<mlir::Value> kept;

  /// Returns whether the phase has a pass over the row; the last phase may only
  /// have values per row.
  bool hasPass() const {
    return !reductions.empty() || !stored.empty() || !overRows.empty();
  }
};

/// Returns the index, in a tensor of the space's rows, of an element of a row.
llvm::SmallVector<mlir::Value> indexInRow(const ScalarEmitter &e,
                                          const RowSpace &space,
                                          mlir::Value tensor, mlir::Value row,
                                          mlir::Value column);

struct RowSchedule {
  /// `body` is that of a kernel, or of the fusion that becomes one.
  explicit RowSchedule(mlir::Block &body);

  /// Returns whether a result may be written over an argument of as many
  /// elements: no pass reads an element of the argument after it is written, if
  /// each pass reads before it writes. With `isShared`, several threads share a
  /// row, and wait for each other at the end of a reduction if it is long.
  bool mayOverwrite(mlir::Block &body, unsigned argument, unsigned result,
                    bool isShared) const;

  RowSpace space;
  llvm::SmallVector<RowPhase, 0> phases;
  /// The reads of the kernel: arguments and results per row are read and
  /// written at the current row; stored results may be read back where all
  /// their uses are at the current element.
  RowReads reads;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_ROWSCHEDULE_H
