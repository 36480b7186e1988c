//===----------------------------------------------------------------------===//
//
// What the methods of calls have in common.
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

/// The element type as descriptors have it (Abi.h).
int32_t dtypeOf(mlir::Value buffer);

/// The three tensors of a library call, then its scratch.
template <typename Op> llvm::SmallVector<mlir::Value> libraryBuffers(Op op) {
  return {op.getLhs(), op.getRhs(), op.getResult(), op.getScratch()};
}

/// The field of its size in a descriptor.
template <typename Op> Field scratchBytes(Op op) {
  mlir::Value scratch = op.getScratch();
  return {8, scratch ? byteSize(llvm::cast<mlir::ShapedType>(scratch.getType()))
                     : 0};
}

} // namespace ingot::exec

#endif // INGOT_DIALECTS_EXEC_CALLSUPPORT_H
