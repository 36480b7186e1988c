//===----------------------------------------------------------------------===//
//
// What the methods of calls have in common.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_EXEC_CALLSUPPORT_H
#define INGOT_DIALECTS_EXEC_CALLSUPPORT_H

#include "dialects/exec/Exec.h"

namespace ingot::exec {

using Effects = llvm::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Bytes of tensors that a call reads and writes.
int64_t bufferBytes(mlir::ValueRange buffers);

/// Reads the first operands, writes the others.
void addEffects(mlir::Operation *op, unsigned reads, Effects &effects);

/// The element type as descriptors have it (Abi.h).
int32_t dtypeOf(mlir::Value buffer);

} // namespace ingot::exec

#endif // INGOT_DIALECTS_EXEC_CALLSUPPORT_H
