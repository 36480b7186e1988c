// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What the methods of calls have in common (header private to the dialect).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_EXEC_CALLSUPPORT_H
#define INGOT_DIALECTS_EXEC_CALLSUPPORT_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"

namespace ingot::exec {

using Effects = llvm::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Bytes of tensors that a call reads and writes.
int64_t bufferBytes(mlir::ValueRange buffers);

/// Reads the first operands, writes the others.
void addEffects(mlir::Operation *op, unsigned reads, Effects &effects);

/// Whether a launch with so many blocks and threads is within what GPUs take.
mlir::LogicalResult verifyGrid(mlir::Operation *call, int64_t grid,
                               int64_t block);

/// A kernel of a call takes so many inputs and outputs.
mlir::LogicalResult verifyKernel(mlir::Operation *call,
                                 mlir::SymbolTableCollection &symbols,
                                 mlir::FlatSymbolRefAttr name, size_t inputs,
                                 size_t outputs);

/// A GPU kernel takes so many buffers, and other arguments.
mlir::LogicalResult verifyGridKernel(mlir::Operation *call,
                                     mlir::SymbolTableCollection &symbols,
                                     mlir::SymbolRefAttr name, size_t buffers,
                                     size_t others = 0);

/// Returns the fields of a GPU kernel except `index`; `launch` is null for no
/// kernel.
ingot_grid_kernel describeGrid(GridAttr launch, size_t buffers);

/// Checks the values of a descriptor's buffers: `values` has one for each of
/// the entry's buffers, which may be null.
mlir::LogicalResult verifyBuffers(mlir::Operation *call,
                                  const abi::Entry &entry,
                                  const CallDescriptor &descriptor,
                                  mlir::ArrayRef<mlir::Value> values);

} // namespace ingot::exec

#endif // INGOT_DIALECTS_EXEC_CALLSUPPORT_H
