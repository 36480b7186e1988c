// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which dimensions of values are rows: samples, or the positions of one sample.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_ROWDIMS_H
#define INGOT_PASSES_PARTITION_ROWDIMS_H

#include "passes/partition/DimClasses.h"

namespace ingot {

/// The rows of a function are the first dimensions of its data, of those with
/// several elements, and all dimensions of their classes.
class RowDims {
public:
  explicit RowDims(mlir::func::FuncOp function);

  /// Returns the first dimension of a value that is rows, with other
  /// dimensions behind it; nothing if there is none, or no equal parts of it.
  std::optional<int64_t> find(mlir::Value value, int64_t parts) const;

private:
  DimClasses dims;
  llvm::SmallDenseSet<unsigned> rows;
};

} // namespace ingot

#endif // INGOT_PASSES_PARTITION_ROWDIMS_H
