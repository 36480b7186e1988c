//===----------------------------------------------------------------------===//
//
// How a `row` kernel goes over a row, for any target: in phases, between which
// reductions become known.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_CODEGEN_ROWSCHEDULE_H
#define INGOT_PASSES_CODEGEN_ROWSCHEDULE_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/analysis/RowSpace.h"

namespace ingot::codegen {

/// One pass over the elements of a row, and what comes before it.
struct RowPhase {
  /// Values per row to compute first, in order: what later passes use of them
  /// is then at hand, if all reads are aligned; others are only stored.
  /// Reductions are not among them.
  llvm::SmallVector<mlir::Value> perRow;
  /// Folded by the pass.
  llvm::SmallVector<Reduction> reductions;
  /// Results (numbers of the yield's operands) with an element per element of
  /// the space, stored by the pass.
  llvm::SmallVector<unsigned> stored;
  /// Values that take long to compute and that later passes use as well: worth
  /// keeping beside the row, where there is room.
  llvm::SmallVector<mlir::Value> kept;

  /// Returns the last phase may only have values per row.
  bool hasPass() const { return !reductions.empty() || !stored.empty(); }
};

struct RowSchedule {
  explicit RowSchedule(exec::KernelOp kernel);

  RowSpace space;
  llvm::SmallVector<RowPhase> phases;
  /// Arguments and results per row are read and written at the row at work;
  /// stored results may be read back where all their uses are there.
  RowReads reads;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_ROWSCHEDULE_H
