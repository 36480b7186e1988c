//===----------------------------------------------------------------------===//
//
// Booleans in memory, for all targets.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_CODEGEN_BOOLEANS_H
#define INGOT_PASSES_CODEGEN_BOOLEANS_H

#include "mlir/IR/Operation.h"

namespace ingot::codegen {

/// Makes loads and stores of `i1` in the LLVM dialect those of bytes: LLVM's
/// vectorizers take `i1` apart, one element at a time.
void widenBooleans(mlir::Operation *root);

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_BOOLEANS_H
