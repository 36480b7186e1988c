//===----------------------------------------------------------------------===//
//
// Which `exec` call runs a library anchor.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H
#define INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H

#include "mlir/IR/Builders.h"

namespace ingot {

/// Emits the call of `anchor`, an op with the trait LibraryAnchor, at the
/// builder's position. `inputs` and `outputs` are the buffers of its operands
/// and results.
void createLibraryCall(mlir::Operation *anchor, mlir::ValueRange inputs,
                       mlir::ValueRange outputs, mlir::OpBuilder &builder);

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_LIBRARYCALLS_H
