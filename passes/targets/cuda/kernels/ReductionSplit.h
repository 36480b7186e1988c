// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How sums are distributed over a GPU: a function of shapes and of the number
// of threads, so that the planner knows the memory of partial sums before
// kernels are emitted (header private to this target).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_KERNELS_REDUCTIONSPLIT_H
#define INGOT_PASSES_TARGETS_CUDA_KERNELS_REDUCTIONSPLIT_H

#include "dialects/ingot/analysis/RowSpace.h"
#include "passes/codegen/ReductionSpace.h"

namespace ingot::codegen {

/// Elements in 16 bytes of the widest type among the largest buffers: as many
/// as a thread reads at once.
int64_t countLanes(mlir::TypeRange buffers);

struct ReductionSplit {
  /// `inputs` are the buffers that the sums read (flatType), `threads` fill the
  /// GPU.
  static ReductionSplit of(const ReductionSpace &space, mlir::TypeRange inputs,
                           int64_t threads);

  /// Returns the same for one sum of `length` elements, accumulated in that
  /// type.
  static ReductionSplit ofAll(int64_t length, mlir::Type accumulator,
                              int64_t threads);

  /// Whether sums are along the innermost dimension, or across it.
  bool isAlong;
  /// Along: threads of one piece. Across: threads of a block for one column.
  int64_t group;
  /// Across: columns that a thread reads at once, and threads of a block in a
  /// row. Where many sums are computed at once, so that their partial sums
  /// would not fit in shared memory, threads read fewer columns or some threads
  /// read nothing.
  int64_t lanes = 1, columns = 1;
  /// Each sum is computed in `pieces` pieces of `piece` elements.
  int64_t pieces = 1, piece = 0;
  /// Buffers of the partial sums of all pieces; none for one piece.
  llvm::SmallVector<mlir::MemRefType> partials;
};

/// How the rows of a kernel are added up: a block processes every n-th row
/// and keeps the sums of their columns, which a second launch adds.
struct RowSums {
  /// The most elements of a row that a thread has sums of: with 16, kernels of
  /// gpt2-xl need up to 252 registers, and a multiprocessor has room for one
  /// block.
  static constexpr int64_t kElements = 12;

  /// Returns whether kernels over these rows add them up.
  static bool isSupported(int64_t rows, int64_t length);
  /// Returns the plan of a kernel, or of the fusion that becomes one.
  static RowSums of(mlir::Block &body, const RowSpace &space);

  /// The results that are sums over rows.
  llvm::SmallVector<unsigned> results;
  llvm::SmallVector<Reduction> roots;
  /// The blocks that share the rows; 0 if there are no sums.
  int64_t blocks = 0;
  /// Buffers of a partial row for each block.
  llvm::SmallVector<mlir::MemRefType> partials;
};

/// Bytes of buffers one after the other, each aligned as tensors are.
int64_t countAlignedBytes(llvm::ArrayRef<mlir::MemRefType> buffers);

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_KERNELS_REDUCTIONSPLIT_H
