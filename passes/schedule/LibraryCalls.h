//===----------------------------------------------------------------------===//
//
// Which `exec` call runs a library anchor.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H
#define INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H

#include "mlir/IR/Builders.h"
#include "runtime/abi/Scratch.h"

namespace ingot {

/// Emits the call of `anchor`, an op with the trait LibraryAnchor, at the
/// builder's position. `inputs` and `outputs` are the buffers of its operands
/// and results, `scratch` is null or memory that the call may work in.
void createLibraryCall(mlir::Operation *anchor, mlir::ValueRange inputs,
                       mlir::ValueRange outputs, mlir::Value scratch,
                       mlir::OpBuilder &builder);

/// Bytes that the call of `anchor` works in; 0 if `op` is no anchor.
int64_t getScratchBytes(mlir::Operation *op,
                        const abi::ScratchMachine &machine);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H
