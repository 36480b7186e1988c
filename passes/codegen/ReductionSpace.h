// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The iteration space of a reduction kernel.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_CODEGEN_REDUCTIONSPACE_H
#define INGOT_PASSES_CODEGEN_REDUCTIONSPACE_H

#include "dialects/ingot/ir/Dialect.h"

namespace ingot::codegen {

int64_t product(llvm::ArrayRef<int64_t> sizes);

/// The reductions that a kernel yields, all over one space.
struct ReductionSpace {
  llvm::SmallVector<Reduction> roots;
  llvm::ArrayRef<int64_t> shape;
  /// The dimensions that remain in the results, and those that are reduced,
  /// both increasing.
  llvm::SmallVector<int64_t> kept, reduced;

  explicit ReductionSpace(mlir::ValueRange results);

  llvm::SmallVector<int64_t> sizes(llvm::ArrayRef<int64_t> dims) const;

  /// Returns true if the innermost dimension of more than one element is
  /// reduced.
  bool foldsInnermost() const;

  /// Returns how many of the trailing entries of `dims` are the trailing
  /// dimensions of the space.
  size_t trailing(llvm::ArrayRef<int64_t> dims) const;

  /// Returns the index of an element of the space.
  llvm::SmallVector<mlir::Value> at(mlir::ValueRange keptIndices,
                                    mlir::ValueRange reducedIndices) const;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_REDUCTIONSPACE_H
