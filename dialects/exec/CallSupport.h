// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Helpers of the methods of calls (header private to the dialect).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_EXEC_CALLSUPPORT_H
#define INGOT_DIALECTS_EXEC_CALLSUPPORT_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"

namespace ingot::exec {

using Effects = llvm::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Returns the bytes of tensors that a call reads and writes.
int64_t bufferBytes(mlir::ValueRange buffers);

/// Adds the effects of reading the first operands and writing the others.
void addEffects(mlir::Operation *op, unsigned reads, Effects &effects);

/// Checks that a launch with that number of blocks and threads is within the
/// limits of GPUs.
mlir::LogicalResult verifyGrid(mlir::Operation *call, int64_t grid,
                               int64_t block);

/// Checks that the kernel of a call exists and takes that number of inputs and
/// outputs.
mlir::LogicalResult verifyKernel(mlir::Operation *call,
                                 mlir::SymbolTableCollection &symbols,
                                 mlir::FlatSymbolRefAttr name, size_t inputs,
                                 size_t outputs);

/// Checks that the GPU kernel exists and takes that number of buffers, and of
/// other arguments.
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
