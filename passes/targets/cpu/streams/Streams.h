// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Loops that access buffers element after element.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_STREAMS_STREAMS_H
#define INGOT_PASSES_TARGETS_CPU_STREAMS_STREAMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ingot::codegen {

/// Returns the bytes of a buffer.
int64_t bytesOf(mlir::MemRefType type);

/// Returns the loops that contain no other loop and count in steps of one.
llvm::SmallVector<mlir::scf::ForOp>
findInnermostLoops(mlir::func::FuncOp function);

/// Returns the stride of `index` in the induction variable of `loop`, with
/// those of inner loops fixed; nothing where it is not simple arithmetic on
/// them.
std::optional<int64_t> findStride(mlir::Value index, mlir::scf::ForOp loop);

/// Clones the computation of an index for another value of the loop's
/// induction variable.
mlir::Value copyIndex(mlir::OpBuilder &builder, mlir::Value index,
                      mlir::scf::ForOp loop, mlir::Value at);

/// Moves the loop into a new one over pieces of it, which is returned: the
/// loop's bounds become those of a piece.
mlir::scf::ForOp cutLoop(mlir::scf::ForOp loop, int64_t piece);

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CPU_STREAMS_STREAMS_H
